// SPDX-License-Identifier: BSL-1.0
// Must not compile where GCC would destroy the body twice.
#include <conch/with_lock.hpp>

#include <memory>

boost::asio::awaitable<int> run(conch::mutex& m, std::shared_ptr<int> value) {
    co_return co_await conch::with_lock(
        m, {}, [value](conch::hold&) -> boost::asio::awaitable<int> { co_return *value; });
}
