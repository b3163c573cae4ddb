// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PARTING_HPP
#define CONCH_TEST_SIM_PARTING_HPP

#include "sim/effect.hpp"
#include "sim/network.hpp"
#include "sim/server_node.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>

namespace conch::sim {

/// Cuts the master of this shard off, so that another takes over beside it; of so many clients each
/// reaches one side alone, or both. False if that can't be now.
bool part_masters(world& w, server_node& server, network& net, std::uint64_t clients,
                  std::size_t shard, effect* e);

}  // namespace conch::sim

#endif
