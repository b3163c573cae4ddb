// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_INTERRUPTION_HPP
#define CONCH_BENCH_INTERRUPTION_HPP

namespace conch::bench {

/// From now on SIGINT, SIGTERM and SIGHUP end the program in good order: a blocking call fails with
/// EINTR, and loops call `throw_if_interrupted()`.
void watch_for_interruption();

/// In a forked child: these signals end it at once again.
void forget_interruption();

void throw_if_interrupted();

}  // namespace conch::bench

#endif
