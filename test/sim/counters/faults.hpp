// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_FAULTS_HPP
#define CONCH_TEST_SIM_COUNTERS_FAULTS_HPP

#include "sim/effect.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <vector>

namespace conch::sim::counters {

class stage;

/// It can happen in this world: of counters, of permits or of deadlocks.
bool knows(fault f, deployment world) noexcept;

/// Lets the faults of a scenario happen, one after the other.
class fault_injector {
public:
    explicit fault_injector(stage& s);

    void start();
    /// No more faults: all that lasts is over.
    void heal();

private:
    void next(std::uint64_t, std::uint64_t);
    void happen(fault f);
    void on_link(fault f, std::uint64_t client, effect* e);
    void on_process(fault f, bool heard, effect* e);
    void refuse(fault f, effect* e);
    void end_refusal(std::uint64_t, std::uint64_t);
    bool alone() const noexcept;
    instant until();

    stage& all_;
    std::vector<fault> kinds_{};
    bool over_ = false;
};

}  // namespace conch::sim::counters

#endif
