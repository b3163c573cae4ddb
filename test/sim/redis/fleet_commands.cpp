// SPDX-License-Identifier: BSL-1.0
// Commands about masters: what a process says of itself and of the others.
#include "sim/fake_redis.hpp"
#include "wire/hash_slot.hpp"

#include <string>
#include <utility>

namespace conch::sim {
namespace {

constexpr const char* host = "127.0.0.1";

reply node(fleet::process p) {
    return reply::array({reply::bulk(host), reply::number(fleet::port_of(p)),
                         reply::bulk(std::string(40, static_cast<char>('a' + p))), reply::array()});
}

reply cluster(fake_redis& r, session& s, arguments a) {
    if (!same_word(a[1], "SLOTS")) {
        return reply::error("ERR unknown subcommand '" + std::string{a[1]} +
                            "'. Try CLUSTER HELP.");
    }
    const fleet& f = r.processes();
    reply all = reply::array();
    for (std::size_t first = 0; first < wire::hash_slots;) {
        const auto owner = [&](std::size_t slot) {
            return f.owner_seen(s.at, static_cast<std::uint16_t>(slot));
        };
        const std::size_t shard = owner(first);
        std::size_t end = first;
        while (end < wire::hash_slots && owner(end) == shard) {
            end = f.end_of_run(s.at, static_cast<std::uint16_t>(end));
        }
        const fleet::process master = f.master_seen(s.at, shard);
        const fleet::process other = master < f.shards() ? master + f.shards() : shard;
        all.items.push_back(reply::array({reply::number(static_cast<std::int64_t>(first)),
                                          reply::number(static_cast<std::int64_t>(end - 1)),
                                          node(master), node(other)}));
        first = end;
    }
    return all;
}

reply asking(fake_redis&, session&, arguments) { return reply::ok(); }

const reply written{reply::kind::push, 0, {}, {}};

reply unknown(std::string_view name) {
    return reply::error("ERR unknown command '" + std::string{name} +
                        "', with args beginning with: ");
}

void confirm(session& s, std::string_view what, std::string_view channel) {
    reply{reply::kind::push,
          0,
          {},
          {reply::bulk(what), reply::bulk(channel),
           reply::number(static_cast<std::int64_t>(s.shard_channels.size()))}}
        .write(s.output, s.resp3);
}

reply ssubscribe(fake_redis& r, session& s, arguments a) {
    if (!r.how().sharded) {
        return unknown(a[0]);
    }
    s.shard_channels.emplace(a[1]);
    confirm(s, "ssubscribe", a[1]);
    return written;
}

reply sunsubscribe(fake_redis& r, session& s, arguments a) {
    if (!r.how().sharded) {
        return unknown(a[0]);
    }
    s.shard_channels.erase(std::string{a[1]});
    confirm(s, "sunsubscribe", a[1]);
    return written;
}

reply spublish(fake_redis& r, session&, arguments a) {
    return r.how().sharded ? reply::number(r.publish_sharded(a[1], a[2])) : unknown(a[0]);
}

reply sentinel(fake_redis& r, session& s, arguments a) {
    const bool whole = same_word(a[1], "MASTER");
    if ((!whole && !same_word(a[1], "GET-MASTER-ADDR-BY-NAME")) || a.size() != 3) {
        return reply::error("ERR unknown subcommand '" + std::string{a[1]} +
                            "'. Try SENTINEL HELP.");
    }
    if (a[2] != "main") {
        return whole ? reply::error("ERR No such master with that name")
                     : reply{reply::kind::nil_array, 0, {}, {}};
    }
    if (whole) {
        const auto epoch = std::to_string(r.processes().epoch_seen(s.at));
        return reply::array({reply::bulk("config-epoch"), reply::bulk(epoch)});
    }
    const auto port = fleet::port_of(r.processes().master_seen(s.at, 0));
    return reply::array({reply::bulk(host), reply::bulk(std::to_string(port))});
}

reply wait(fake_redis& r, session& s, arguments a) {
    if (!r.processes().is_master(s.at)) {
        return reply::error("ERR WAIT cannot be used with replica instances.");
    }
    if (!to_integer(a[1]) || !to_integer(a[2])) {
        return reply::error(not_an_integer);
    }
    return reply::number(r.acknowledge(s));
}

constexpr unsigned l = command::while_loading;
constexpr unsigned n = command::not_in_scripts;
constexpr command commands[] = {
    {"cluster", -2, l | n, cluster},
    {"asking", 1, n, asking},
    {"ssubscribe", 2, l | n, ssubscribe},
    {"sunsubscribe", 2, l | n, sunsubscribe},
    {"spublish", 3, l, spublish},
    {"sentinel", -2, n, sentinel},
    {"wait", 3, n, wait},
};

}  // namespace

std::span<const command> fleet_commands() noexcept { return commands; }

}  // namespace conch::sim
