// SPDX-License-Identifier: BSL-1.0
#include <conch/conch.hpp>

struct order {};

boost::asio::awaitable<void> use(conch::client& redis) {
    auto charge =
        conch::guarded(redis, "order", [](order) -> boost::asio::awaitable<void> { co_return; });
    co_await charge(order{});
}
