// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_WITH_LOCK_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_WITH_LOCK_FIXTURE_HPP

#include "support/redis_test.hpp"

#include <conch/with_lock.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace conch::test {

/// Sleeps until cancelled; says so, and passes the exception on.
inline asio::awaitable<void> until_cancelled(bool* cancelled) {
    asio::steady_timer never{co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max()};
    const auto [ec] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    *cancelled = ec == asio::error::operation_aborted;
    throw system_error{ec};
}

/// What with_lock threw: a code, or nothing.
template <typename Body>
asio::awaitable<error_code> failure(const mutex& m, lock_options options, Body body) {
    try {
        co_await with_lock(m, options, body);
    } catch (const system_error& e) {
        co_return e.code();
    }
    co_return error_code{};
}

class with_lock_test : public redis_test {
protected:
    bool locked() { return raw.exists("lock"); }

    client redis{io, settings()};
    mutex m{redis, "lock", {.fenced = true}};
};

}  // namespace conch::test

#endif
