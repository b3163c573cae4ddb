// SPDX-License-Identifier: BSL-1.0
// The same seed gives the same run: else a failure could not be replayed.
#include "sim/check/determinism.hpp"

#include "sim/counters/simulation.hpp"
#include "sim/deadlocks/simulation.hpp"
#include "sim/majority/simulation.hpp"
#include "sim/permits/simulation.hpp"

#include <memory>

namespace conch::sim {
namespace {

constexpr std::uint64_t twice_every = 64;

// `make(trace)`: the simulation of this seed.
template <typename Make>
void play_one(std::uint64_t seed, bool trace, const std::function<void(const outcome&)>& judge,
              const Make& make) {
    const auto once = make(trace);
    outcome o = once->run();
    if (seed % twice_every == 0 && o.violations.empty()) {
        const outcome other = make(false)->run();
        if (other.trace_hash != o.trace_hash || other.events != o.events) {
            o.violations.push_back("determinism: the same seed gave another trace");
        }
    }
    judge(o);
}

}  // namespace

void play(std::uint64_t seed, deployment d, bool trace,
          const std::function<void(const outcome&)>& judge) {
    if (d == deployment::majority) {
        play_one(seed, trace, judge, [seed](bool print) {
            return std::make_unique<majority::simulation>(seed, print);
        });
    } else if (d == deployment::counters) {
        play_one(seed, trace, judge, [seed](bool print) {
            return std::make_unique<counters::simulation>(seed, print);
        });
    } else if (d == deployment::permits) {
        play_one(seed, trace, judge,
                 [seed](bool print) { return std::make_unique<permits::simulation>(seed, print); });
    } else if (d == deployment::deadlocks) {
        play_one(seed, trace, judge, [seed](bool print) {
            return std::make_unique<deadlocks::simulation>(seed, print);
        });
    } else {
        play_one(seed, trace, judge,
                 [seed, d](bool print) { return std::make_unique<simulation>(seed, print, d); });
    }
}

}  // namespace conch::sim
