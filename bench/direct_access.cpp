// SPDX-License-Identifier: BSL-1.0
#include "direct_access.hpp"

#include "connection.hpp"
#include "interruption.hpp"
#include "wire/hash_slot.hpp"

#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace conch::bench {
namespace {

config at(const config& settings, const server_address& a) {
    config c = settings;
    c.sentinel.reset();
    c.cluster.reset();
    c.host = a.host;
    c.port = a.port;
    return c;
}

server_address address_of(const std::string& host, const std::string& port) {
    return {host, static_cast<std::uint16_t>(std::stoul(port))};
}

/// The first answer that is one, of those who are asked in turn.
template <typename Ask>
auto first_answer(const std::vector<server_address>& addresses, Ask ask) {
    std::string why;
    for (const server_address& a : addresses) {
        try {
            return ask(a);
        } catch (const std::exception& e) {
            throw_if_interrupted();
            why = a.host + ':' + std::to_string(a.port) + ": " + e.what();
        }
    }
    throw std::runtime_error{"nobody knows the servers: " + why};
}

server_address master_by(const config& settings, const server_address& asked) {
    const sentinel_options& s = *settings.sentinel;
    connection c{at(settings, asked), connection::greeted::no};
    if (!s.password.empty()) {
        c.command({"AUTH", s.username.empty() ? "default" : s.username, s.password});
    }
    const message m = c.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.master});
    if (m.parts.size() != 2) {
        throw std::runtime_error{"a sentinel doesn't know the master " + s.master};
    }
    return address_of(m.parts[0], m.parts[1]);
}

/// A master with slots, as a line of CLUSTER NODES says it.
struct shard {
    server_address address{};
    bool has_tag = false;
};

bool in_range(std::uint16_t slot, const std::string& range) {
    const auto dash = range.find('-');
    return slot >= std::stoul(range) &&
           slot <= std::stoul(dash == range.npos ? range : range.substr(dash + 1));
}

/// "myself,master,nofailover" has "master", and not "fail".
bool has_flag(const std::string& flags, const std::string& flag) {
    return (',' + flags + ',').find(',' + flag + ',') != flags.npos;
}

// ID HOST:PORT@BUS[,NAME] FLAGS MASTER PING PONG EPOCH LINK [RANGE...] [[SLOT-MOVES]...]
std::optional<shard> shard_of(const std::string& line, const std::string& asked_host) {
    std::istringstream words{line};
    std::string address, flags, skipped;
    words >> skipped >> address >> flags >> skipped >> skipped >> skipped >> skipped >> skipped;
    if (!has_flag(flags, "master") || has_flag(flags, "fail") || has_flag(flags, "fail?")) {
        return std::nullopt;
    }
    const auto colon = address.rfind(':', address.find('@'));
    const std::string host = address.substr(0, colon);
    shard out{.address = address_of(host.empty() ? asked_host : host, address.substr(colon + 1))};
    const std::uint16_t slot = wire::hash_slot_of(tag);
    bool has_slots = false;
    for (std::string range; words >> range && !range.starts_with('[');) {
        has_slots = true;
        out.has_tag = out.has_tag || in_range(slot, range);
    }
    return has_slots ? std::optional{out} : std::nullopt;
}

std::vector<shard> shards_by(const config& settings, const server_address& asked) {
    connection c{at(settings, asked), connection::greeted::no};
    if (!settings.password.empty()) {
        c.command(
            {"AUTH", settings.username.empty() ? "default" : settings.username, settings.password});
    }
    std::istringstream lines{c.command({"CLUSTER", "NODES"}).text};
    std::vector<shard> out;
    for (std::string line; std::getline(lines, line);) {
        if (auto s = shard_of(line, asked.host)) {
            out.push_back(*s);
        }
    }
    return out;
}

/// As conch finds it out (`sharded_messages::automatic`).
bool tells_by_shard(const config& home) {
    connection c{home};
    try {
        c.command({"PUBSUB", "SHARDNUMSUB"});
        return true;
    } catch (const server_refusal&) {
        return false;
    }
}

direct_access of_cluster(const config& settings) {
    const std::vector<shard> shards =
        first_answer(settings.cluster->addresses,
                     [&](const server_address& a) { return shards_by(settings, a); });
    direct_access out;
    for (const shard& s : shards) {
        out.everyone.push_back(at(settings, s.address));
        if (s.has_tag) {
            out.home = out.everyone.back();
            out.sharded = tells_by_shard(out.home);
        }
    }
    if (out.home.port == 0 || out.everyone.empty()) {
        throw std::runtime_error{"no node of the cluster has the slot of " + std::string{tag}};
    }
    return out;
}

}  // namespace

direct_access find_direct_access(const config& settings) {
    if (settings.cluster) {
        return of_cluster(settings);
    }
    config home = settings;
    if (settings.sentinel) {
        home = at(settings,
                  first_answer(settings.sentinel->addresses,
                               [&](const server_address& a) { return master_by(settings, a); }));
    }
    return {.home = home, .everyone = {home}};
}

}  // namespace conch::bench
