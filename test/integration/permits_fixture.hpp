// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_PERMITS_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_PERMITS_FIXTURE_HPP

#include "integration/fault_fixture.hpp"

#include <conch/conch.hpp>

#include <boost/asio/steady_timer.hpp>

#include <string>

namespace conch::test {

/// Two clients that share permits with leases.
class permits_test : public fault_test {
protected:
    /// The ids of those that are out.
    const std::string out = "{permits}:timeout";

    asio::awaitable<void> listened() {
        while (raw.subscribers("redisson_sc:{permits}") < 1) {
            co_await wait(1ms);
        }
    }
    asio::awaitable<void> wait(duration d) {
        asio::steady_timer pause{io, d};
        co_await pause.async_wait(asio::use_awaitable);
    }
    /// Starts to wait; the hold is written there.
    void start(const semaphore& s, int permits, hold& to, const lock_options& o = {}) {
        s.async_acquire(permits, o, [&to](error_code ec, hold h) {
            EXPECT_FALSE(ec) << ec.message();
            to = std::move(h);
        });
    }
    asio::awaitable<void> granted(const hold& h) {
        while (!h) {
            co_await wait(1ms);
        }
    }
    std::int64_t left() { return std::stoll(raw.get("permits").value_or("0")); }
    std::int64_t held() { return raw.must({"ZCARD", out}).number; }

    client one{io, push_only("one")};
    client two{io, push_only("two")};
    semaphore s1{one, "permits"};
    semaphore s2{two, "permits"};
};

}  // namespace conch::test

#endif
