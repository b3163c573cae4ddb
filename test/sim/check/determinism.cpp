// SPDX-License-Identifier: BSL-1.0
// The same seed gives the same run: else a failure could not be replayed.
#include "sim/check/determinism.hpp"

namespace conch::sim {
namespace {

constexpr std::uint64_t twice_every = 64;

}  // namespace

void play(std::uint64_t seed, deployment d, bool trace,
          const std::function<void(const outcome&)>& judge) {
    simulation once{seed, trace, d};
    outcome o = once.run();
    if (seed % twice_every == 0 && o.violations.empty()) {
        simulation again{seed, false, d};
        const outcome other = again.run();
        if (other.trace_hash != o.trace_hash || other.events != o.events) {
            o.violations.push_back("determinism: the same seed gave another trace");
        }
    }
    judge(o);
}

}  // namespace conch::sim
