// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_INQUIRY_HPP
#define CONCH_SRC_TOPOLOGY_INQUIRY_HPP

#include <conch/config.hpp>

#include <algorithm>
#include <chrono>

namespace conch::topology {

/// The settings of a link to a server that is asked where others are: one that doesn't answer must
/// not hold up the question to the next one for long.
inline config inquiry_settings(const config& all) {
    constexpr duration longest_patience = std::chrono::seconds{1};
    config c = all;
    c.connect_timeout = std::min(c.connect_timeout, longest_patience);
    c.response_timeout = std::min(c.response_timeout, longest_patience);
    c.retry_attempts.reset();
    return c;
}

}  // namespace conch::topology

#endif
