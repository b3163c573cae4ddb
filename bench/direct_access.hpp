// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_DIRECT_ACCESS_HPP
#define CONCH_BENCH_DIRECT_ACCESS_HPP

#include <conch/config.hpp>

#include <string_view>
#include <vector>

namespace conch::bench {

/// With what the names of locks begin where a cluster may have them: a hash tag, so that one node
/// has all, which one socket can reach.
inline constexpr std::string_view tag = "{conch-bench}";

/// Where one who knows nothing of a topology finds what begins with `tag`.
struct direct_access {
    config home{};                   ///< of the server that has it
    std::vector<config> everyone{};  ///< of all servers that may have locks, `home` too
    bool sharded = false;            ///< releases are told by SPUBLISH
};

/// Asks the sentinels, or the nodes of the cluster, if these settings have such. Throws
/// `std::runtime_error` if none of them knows. Precondition: no TLS.
direct_access find_direct_access(const config& settings);

}  // namespace conch::bench

#endif
