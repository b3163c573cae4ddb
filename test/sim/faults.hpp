// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_FAULTS_HPP
#define CONCH_TEST_SIM_FAULTS_HPP

#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace conch::sim {

class simulation;

/// Has the faults of the scenario happen, one after the other, until the chaos is over; then heals
/// them, but for those that nobody may suffer from: they go on until the work is over.
class fault_injector {
public:
    explicit fault_injector(simulation& s);
    void start();
    void heal();
    /// The run is over.
    void finish();

private:
    /// Faults that act later, if at all, by what shows that they did.
    enum class trace : std::uint8_t { refusals, batches, messages, waiting, count };
    struct latent {
        fault f{};
        std::uint64_t before = 0;
        bool open = false;
    };

    void next(std::uint64_t, std::uint64_t);
    void happen(fault f);
    bool act(fault f);
    bool act_on_connection(fault f, std::uint64_t client);
    void act_later(fault f);
    void close(trace t);
    std::uint64_t seen(trace t);
    void step_clock(std::int64_t us);
    void end_refusal(std::uint64_t, std::uint64_t);
    void end_batch_refusal(std::uint64_t, std::uint64_t);
    bool persist_any();
    void vandalize_any();
    void end_vandal(std::uint64_t name, std::uint64_t);
    std::uint64_t victim();
    instant until();

    simulation& all_;
    std::vector<fault> kinds_{};
    std::array<latent, static_cast<std::size_t>(trace::count)> latent_{};
    bool over_ = false;
};

}  // namespace conch::sim

#endif
