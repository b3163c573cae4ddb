// SPDX-License-Identifier: BSL-1.0
// Must not compile: a time to wait is an option.
#include <conch/mutex.hpp>

#include <boost/asio/awaitable.hpp>

boost::asio::awaitable<void> take(conch::mutex& m) {
    auto hold = co_await m.async_lock(std::chrono::seconds{2});
}
