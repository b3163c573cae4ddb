// SPDX-License-Identifier: BSL-1.0
// Messages that a server has kept back.
#include "sim/server_node.hpp"

#include <utility>

namespace conch::sim {

// Later than a round trip, and than most leases.
void server_node::keep_late_messages() {
    for (fake_redis::late_message& m : redis_.take_delayed()) {
        const instant when = world_.now() + world_.chance.spread(1 * millis, 6 * seconds);
        late_messages_.emplace(when, std::move(m));
        world_.plan<&server_node::deliver_late>(when, this);
    }
}

void server_node::deliver_late(std::uint64_t, std::uint64_t) {
    const auto next = late_messages_.begin();
    world_.note("late message", next->second.at);
    redis_.deliver(next->second);
    late_messages_.erase(next);
    flush();
}

}  // namespace conch::sim
