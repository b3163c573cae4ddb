// SPDX-License-Identifier: BSL-1.0
#include "cli/asking.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace conch::cli {

namespace asio = boost::asio;

question about_key(std::vector<std::string> command) {
    const std::uint16_t hash_slot = inspector::hash_slot_of(command.at(1));
    return {std::move(command), hash_slot};
}

asio::awaitable<std::vector<answer>> ask_all(const inspector& server, std::vector<question> all) {
    std::vector<answer> answers(all.size());
    std::size_t left = all.size();
    asio::steady_timer done{co_await asio::this_coro::executor,
                            asio::steady_timer::time_point::max()};
    for (std::size_t i = 0; i < all.size(); ++i) {
        server.async_ask(std::move(all[i].command), all[i].hash_slot,
                         [&answers, &left, &done, i](error_code ec, server_reply reply) {
                             answers[i].ec = ec;
                             answers[i].reply = std::move(reply);
                             if (--left == 0) {
                                 done.cancel();
                             }
                         });
    }
    if (left > 0) {
        co_await done.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return answers;
}

std::vector<master> masters_in(const server_reply& slots) {
    std::vector<master> all;
    for (const server_reply& range : slots.list) {
        const server_reply& first = range.at(0);
        const server_reply& node = range.at(2);
        if (!first.is_number() || first.number < 0 || first.number > 16383 || node.list.empty()) {
            continue;
        }
        const std::string id = node.at(2).is_text()
                                   ? node.at(2).text
                                   : node.at(0).text + ':' + std::to_string(node.at(1).number);
        auto known =
            std::find_if(all.begin(), all.end(), [&](const master& m) { return m.id == id; });
        if (known == all.end()) {
            all.push_back({id, static_cast<std::uint16_t>(first.number), {}});
            known = all.end() - 1;
        }
        known->hash_slots +=
            std::to_string(first.number) + '-' + std::to_string(range.at(1).number) + ' ';
    }
    return all;
}

}  // namespace conch::cli
