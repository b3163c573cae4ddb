// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_MAPPING_HPP
#define CONCH_SRC_TOPOLOGY_MAPPING_HPP

#include "core/repeated_log.hpp"
#include "wire/address.hpp"

#include <conch/config.hpp>

#include <optional>
#include <string_view>

namespace conch::topology {

/// A setting that says where servers are reached: `cluster_options::map_address`, or that of
/// `sentinel_options`.
struct address_map {
    const decltype(cluster_options::map_address)& function;
    std::string_view name;  ///< for the log
};

/// Where to reach a server that another one told of: where the map says, or else there. None if no
/// server can be at either: what is wrong is logged then, unless nothing was told.
std::optional<wire::address> reached(const wire::address& told, const address_map& map,
                                     core::repeated_log& log);

}  // namespace conch::topology

#endif
