// SPDX-License-Identifier: BSL-1.0
// What the refusal of a body tells to write instead.
#include <conch/with_lock.hpp>

#include <functional>
#include <memory>

boost::asio::awaitable<int> run(conch::mutex& m, std::shared_ptr<int> value) {
    auto body = [value](conch::hold&) -> boost::asio::awaitable<int> { co_return *value; };
    const int first = co_await conch::with_lock(m, {}, body);
    const int second = co_await conch::with_lock(m, {}, std::ref(body));
    co_return first + second;
}
