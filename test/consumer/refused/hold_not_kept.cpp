// SPDX-License-Identifier: BSL-1.0
// The lock is released at the end of the statement.
#include <conch/mutex.hpp>

#include <boost/asio/awaitable.hpp>

boost::asio::awaitable<void> take(conch::mutex& m) { co_await m.async_lock(); }
