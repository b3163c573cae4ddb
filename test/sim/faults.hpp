// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_FAULTS_HPP
#define CONCH_TEST_SIM_FAULTS_HPP

#include "sim/effect.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace conch::sim {

class simulation;

/// Those that a client gets over at once, connected as it is.
bool goes_on(fault f) noexcept;

/// Has the faults of the scenario happen, one after the other, until the chaos is over; then heals
/// them, but for those that nobody may suffer from: they go on until the work is over.
class fault_injector {
public:
    explicit fault_injector(simulation& s);
    void start();
    void heal();

private:
    void next(std::uint64_t, std::uint64_t);
    void happen(fault f);
    void act(fault f, std::uint64_t client, bool heard, effect* e);
    void act_on_process(fault f, bool heard, effect* e);
    void act_on_connection(fault f, std::uint64_t client, effect* e);
    void act_on_lines(fault f, std::uint64_t client, effect* e);
    bool alone() const noexcept;
    fleet::process any_process();
    void refuse(fault f, effect* e);
    void end_refusal(std::uint64_t, std::uint64_t);
    void end_batch_refusal(std::uint64_t, std::uint64_t);
    /// Of this name or of the next to which it can be done; false if there is none.
    bool any_name(bool (simulation::*what)(std::size_t name));
    void vandalize_any(effect* e);
    void end_vandal(std::uint64_t name, std::uint64_t);
    std::uint64_t victim();
    instant until();

    simulation& all_;
    std::vector<fault> kinds_{};
    bool over_ = false;
};

}  // namespace conch::sim

#endif
