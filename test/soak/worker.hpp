// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_WORKER_HPP
#define CONCH_TEST_SOAK_WORKER_HPP

#include "soak/options.hpp"

namespace conch::soak {

/// One client process: works until its standard input ends, then finishes what it has begun.
/// The exit status.
int work(const options& o);

}  // namespace conch::soak

#endif
