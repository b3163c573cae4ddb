// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_DISCOVERY_TIMEOUTS_HPP
#define CONCH_SRC_TOPOLOGY_DISCOVERY_TIMEOUTS_HPP

#include <conch/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace conch::topology {

/// The settings of a link to servers that are asked in turn where others are. One that doesn't
/// answer must not hold up the question to the next one for long: each has a second. But where a
/// whole round of them could not be reached in that time, they have twice as long in the next one,
/// up to what the client has for a server; and so on until one is reached within a second.
class discovery_timeouts {
public:
    explicit discovery_timeouts(config all)
        : settings_{std::move(all)},
          connect_{settings_.connect_timeout},
          response_{settings_.response_timeout} {
        allow(first);
    }

    const config& settings() const noexcept { return settings_; }
    /// There is a connection, and it took so long to make it.
    void reached(duration took) noexcept {
        in_round_ = true;
        if (took <= first) {
            allow(first);
        }
    }
    /// None of them was of use.
    void round_failed() noexcept {
        const bool in_reach = std::exchange(in_round_, false);
        if (!in_reach && allowed_ < std::max(connect_, response_)) {
            allow(allowed_ * 2);
        }
    }

private:
    static constexpr duration first = std::chrono::seconds{1};

    void allow(duration d) noexcept {
        allowed_ = d;
        settings_.connect_timeout = std::min(connect_, d);
        settings_.response_timeout = std::min(response_, d);
    }

    config settings_;
    const duration connect_;
    const duration response_;
    duration allowed_{};
    bool in_round_ = false;  // one was reached
};

/// All of those that are asked failed so often, one after the other, that what waits for an answer
/// shall wait no longer.
inline bool is_out_of_attempts(const config& c, std::size_t rounds) noexcept {
    return c.retry_attempts && rounds >= *c.retry_attempts;
}

}  // namespace conch::topology

#endif
