// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_ASKING_HPP
#define CONCH_SRC_CLI_ASKING_HPP

#include <conch/inspector.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// One command for one server.
struct question {
    std::vector<std::string> command;
    std::uint16_t hash_slot;
};

struct answer {
    error_code ec{};
    server_reply reply{};

    bool is_number() const noexcept { return !ec && reply.is_number(); }
    bool is_text() const noexcept { return !ec && reply.is_text(); }
};

/// For a key of its own: the first argument.
question about_key(std::vector<std::string> command);

/// All of them at once, in one write; as many answers, in this order.
boost::asio::awaitable<std::vector<answer>> ask_all(const inspector& server,
                                                    std::vector<question> all);

/// One of the masters that keep the keys.
struct master {
    std::string id{};
    std::uint16_t hash_slot = 0;  ///< one of its own
    std::string hash_slots{};     ///< all of its own, to tell whether they change

    friend bool operator==(const master&, const master&) = default;
};

/// Those in the answer to CLUSTER SLOTS.
std::vector<master> masters_in(const server_reply& slots);

}  // namespace conch::cli

#endif
