// SPDX-License-Identifier: BSL-1.0
// Must not compile where GCC would destroy the argument twice.
#include <conch/conch.hpp>

#include <string>

struct order {
    std::string number;
};

boost::asio::awaitable<void> use(conch::client& redis) {
    auto charge = conch::guarded(
        redis, [](const order& o) { return o.number; },
        [](order) -> boost::asio::awaitable<void> { co_return; });
    co_await charge(order{"A1"});
}
