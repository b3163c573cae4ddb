// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_CPUS_HPP
#define CONCH_BENCH_CPUS_HPP

#include <cstddef>

namespace conch::bench {

/// From now on this thread, and the processes that it starts, run on one of the CPUs that this
/// program had at first: the `k`-th, counted round. What takes turns with something else is then
/// compared on the same CPUs, and not by where the scheduler happened to put each.
void use_cpu(std::size_t k);

}  // namespace conch::bench

#endif
