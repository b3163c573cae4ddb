// SPDX-License-Identifier: BSL-1.0
// What the refusal of an argument tells to write instead; and what is no aggregate needs no name.
#include <conch/conch.hpp>

#include <string>

struct order {
    std::string number;
};

boost::asio::awaitable<void> use(conch::client& redis) {
    auto charge = conch::guarded(
        redis, [](const order& o) { return o.number; },
        [](order) -> boost::asio::awaitable<void> { co_return; });
    order first{"A1"};
    co_await charge(first);
    auto pay = conch::guarded(redis, "pay",
                              [](std::string) -> boost::asio::awaitable<void> { co_return; });
    co_await pay(std::string{"A1"});
}
