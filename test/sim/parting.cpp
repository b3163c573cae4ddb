// SPDX-License-Identifier: BSL-1.0
#include "sim/parting.hpp"

#include <set>

namespace conch::sim {
namespace {

// With the old master alone, with the others alone, or with all.
void keep_apart(world& w, const fleet& f, network& net, std::uint64_t client,
                const std::set<fleet::process>& old_side, instant until, effect* e) {
    const std::uint64_t side = w.chance.below(3);
    for (fleet::process p = 0; side < 2 && p < f.processes(); ++p) {
        if (old_side.contains(p) == (side == 1)) {
            net.separate(client, fleet::port_of(p), until, e);
        }
    }
}

}  // namespace

// The old master may have another process with it, of those that know where masters are; a sentinel
// that is, too, where there are any.
bool part_masters(world& w, server_node& server, network& net, std::uint64_t clients,
                  std::size_t shard, effect* e) {
    const fleet& f = server.redis().processes();
    server_node::parting s{.shard = shard, .lost_writes = w.chance.below(8)};
    s.promoted = w.now() + w.chance.spread(millis, 1 * seconds);
    s.over = s.promoted + w.chance.spread(10 * millis, 5 * seconds);
    s.hangs_up = w.chance.once_in(2);
    if (w.chance.once_in(3)) {
        s.gives_up = w.chance.between(w.now(), s.over);
    }
    if (f.kind() == deployment::sentinel && !w.chance.once_in(3)) {
        s.with_old = 2 + w.chance.below(2);
    } else if (f.clustered() && w.chance.once_in(2)) {  // a replica of another shard
        s.with_old = f.replica((shard + 1 + w.chance.below(2)) % f.shards());
    }
    const fleet::process old = f.master(shard);
    if (!server.split(s, e)) {
        return false;
    }
    std::set<fleet::process> old_side{old};
    if (s.with_old) {
        old_side.insert(*s.with_old);
    }
    for (std::uint64_t client = 0; client < clients; ++client) {
        keep_apart(w, f, net, client, old_side, s.over, e);
    }
    return true;
}

}  // namespace conch::sim
