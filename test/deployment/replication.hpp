// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_REPLICATION_HPP
#define CONCH_TEST_DEPLOYMENT_REPLICATION_HPP

#include "support/raw_client.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace conch::test {

/// So many replicas have what is written to this master from now on. Twice, because a replica that
/// joins meanwhile acknowledges what came with its first copy, and gets what is written after that
/// once it has said so, which may be a second later.
inline bool replicates(raw_client& master, const std::string& key, std::size_t replicas) {
    const auto reaches_all = [&] {
        master.must({"SET", key, ""});
        return master.must({"WAIT", std::to_string(replicas), "100"}).number ==
               static_cast<std::int64_t>(replicas);
    };
    return reaches_all() && reaches_all();
}

}  // namespace conch::test

#endif
