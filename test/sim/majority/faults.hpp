// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_FAULTS_HPP
#define CONCH_TEST_SIM_MAJORITY_FAULTS_HPP

#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace conch::sim::majority {

class simulation;

/// Lets the faults of a scenario happen, one after the other, until it heals them all.
class fault_injector {
public:
    explicit fault_injector(simulation& s);
    fault_injector(const fault_injector&) = delete;
    fault_injector& operator=(const fault_injector&) = delete;

    void start();
    /// But for those that a client gets over at once: they go on, now and then.
    void heal();
    void stop();

private:
    void plan_next();
    void next(std::uint64_t, std::uint64_t);
    void happen(fault f);
    bool by_stranger(fault f, std::size_t server);
    void spoil(std::size_t server, effect* e);
    void end_spoiling(std::uint64_t name, std::uint64_t place);
    bool unsubscribe(std::size_t name, std::size_t place);
    void refuse(fault f, std::size_t server, effect* e);
    void end_batch_refusal(std::uint64_t server, std::uint64_t);
    std::size_t any_place(std::size_t server);
    void end_refusal(std::uint64_t server, std::uint64_t);
    void on_link(fault f, std::size_t server, std::uint64_t client, effect* e);
    instant until();
    void plan_for_a_member();
    void befall_a_member(std::uint64_t, std::uint64_t);

    simulation& all_;
    dice more_;  // for what happens to one member of a process
    std::vector<fault> kinds_{};
    bool over_ = false;
    bool stopped_ = false;
};

}  // namespace conch::sim::majority

#endif
