// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_HEARTBEAT_HPP
#define CONCH_SRC_WIRE_HEARTBEAT_HPP

#include "wire/pipeline.hpp"

#include <conch/config.hpp>

#include <optional>

namespace conch::wire {

/// Whether the other side of a connection is still there: silence calls for a PING, and an answer
/// that is overdue means that it is not.
class heartbeat {
public:
    heartbeat(pipeline& p, const config& settings) noexcept : pipeline_{p}, settings_{settings} {}

    /// The server gave a sign of life; or an answer begins to be awaited.
    void heard(time_point now) noexcept { heard_ = now; }
    /// When to look again; none if an answer is overdue. No timer is moved for each command: that
    /// time may turn out to be too early.
    std::optional<time_point> look(time_point now);
    bool is_ping(const call& c) const noexcept { return &c == &ping_; }

private:
    static const call_type ping_type;

    pipeline& pipeline_;
    const config& settings_;
    time_point heard_{};
    call ping_{ping_type};
};

}  // namespace conch::wire

#endif
