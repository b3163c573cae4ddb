// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_DEADLOCKS_GRAPH_HPP
#define CONCH_TEST_SIM_DEADLOCKS_GRAPH_HPP

#include "sim/deadlocks/job.hpp"
#include "sim/world.hpp"

#include <functional>
#include <vector>

namespace conch::sim::deadlocks {

/// Each waits for the one behind it, which holds what that wants; the last one for the first. All
/// of that was there at the same time, from `begin` to `end`.
struct cycle {
    std::vector<const lock_call*> waits{};
    std::vector<const possession*> holds{};  ///< what each of them waits for
    instant begin = 0;
    instant end = never;

    /// All of them are of one client.
    bool is_local() const noexcept;
    bool has_readers() const noexcept;
};

/// Who waited for whom, as jobs know it themselves: what they asked for and were not answered yet,
/// and what they were granted, until they released it or were told that it is lost.
class graph {
public:
    void add(const lock_call& w);
    void add(const possession& h);

    /// Each that this wait is part of, until `found` returns true; whether it did.
    bool any_cycle(const lock_call& through, const std::function<bool(const cycle&)>& found) const;

private:
    bool go_on(cycle& c, const std::function<bool(const cycle&)>& found) const;

    std::vector<const lock_call*> waits_{};
    std::vector<const possession*> holds_{};
};

}  // namespace conch::sim::deadlocks

#endif
