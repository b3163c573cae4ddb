// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_TOLD_IN_TIME_HPP
#define CONCH_TEST_SUPPORT_TOLD_IN_TIME_HPP

#include "support/run.hpp"

#include <conch/conch.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace conch::test {

/// Waits for the loss of a hold, and gives what `async_wait_lost` said; nothing if it was not said
/// in time: by a few turns of the event loop after `valid_until()`, however late the loop itself
/// is. Nothing, too, if the hold still claims to own the lock then.
inline asio::awaitable<std::optional<error_code>> told_in_time(const hold& h) {
    const auto told = std::make_shared<std::optional<error_code>>();
    h.async_wait_lost([told](error_code ec) { *told = ec; });
    while (!*told && clock::now() <= h.valid_until()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(h.remaining()) + 1ms;
        co_await pass(std::min(left, std::chrono::milliseconds{20}));
    }
    const bool claimed = h.owns_lock();
    const auto executor = co_await asio::this_coro::executor;
    for (int turn = 0; turn < 20 && !*told; ++turn) {
        co_await asio::post(executor, asio::deferred);
    }
    co_return claimed ? std::nullopt : *told;
}

}  // namespace conch::test

#endif
