// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_INQUIRY_HPP
#define CONCH_SRC_TOPOLOGY_INQUIRY_HPP

#include <conch/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace conch::topology {

/// The settings of a link to a server that is asked where others are: one that doesn't answer must
/// not hold up the question to the next one for long.
inline config inquiry_settings(const config& all) {
    constexpr duration longest_patience = std::chrono::seconds{1};
    config c = all;
    c.connect_timeout = std::min(c.connect_timeout, longest_patience);
    c.response_timeout = std::min(c.response_timeout, longest_patience);
    return c;
}

/// All of those that are asked failed so often, one after the other, that what waits for an answer
/// shall wait no longer.
inline bool is_out_of_attempts(const config& c, std::size_t rounds) noexcept {
    return c.retry_attempts && rounds >= *c.retry_attempts;
}

}  // namespace conch::topology

#endif
