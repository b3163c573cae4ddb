// SPDX-License-Identifier: BSL-1.0
// Must not compile: this body is no coroutine.
#include <conch/with_lock.hpp>

boost::asio::awaitable<int> run(conch::mutex& m) {
    co_return co_await conch::with_lock(m, {}, [](conch::hold&) { return 1; });
}
