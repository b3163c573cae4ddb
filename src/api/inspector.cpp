// SPDX-License-Identifier: BSL-1.0
#include <conch/inspector.hpp>

#include "wire/hash_slot.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace conch {
namespace {

constexpr std::array<std::string_view, 16> readers{
    "EXISTS", "GET",  "GETRANGE", "HGET",   "HLEN", "HSCAN",  "LLEN",   "LRANGE",
    "PTTL",   "SCAN", "TIME",     "STRLEN", "TYPE", "ZCOUNT", "ZRANGE", "ZRANGEBYSCORE"};
constexpr std::array<std::string_view, 4> readers_of_two_words{
    "CLIENT LIST", "CLUSTER SLOTS", "PUBSUB NUMSUB", "PUBSUB SHARDNUMSUB"};

bool is_in(const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

inspector::inspector(const client& redis) noexcept : core_{redis.core_} {}

std::uint16_t inspector::hash_slot_of(std::string_view key) noexcept {
    return wire::hash_slot_of(key);
}

const server_reply& server_reply::at(std::size_t i) const noexcept {
    static const server_reply none{};
    return i < list.size() ? list[i] : none;
}

void impl::check_question(const std::vector<std::string>& command, std::uint16_t hash_slot) {
    const bool known =
        !command.empty() &&
        (is_in(readers, command[0]) ||
         (command.size() > 1 && is_in(readers_of_two_words, command[0] + ' ' + command[1])));
    if (!known) {
        throw std::invalid_argument{"conch::inspector: not one of the commands that it sends"};
    }
    if (hash_slot >= wire::hash_slots) {
        throw std::invalid_argument{"conch::inspector: the hash slot is above 16,383"};
    }
}

}  // namespace conch
