// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_CLIENT_PROCESS_HPP
#define CONCH_TEST_SOAK_CLIENT_PROCESS_HPP

#include "support/program.hpp"

#include <chrono>
#include <string>

namespace conch::soak {

/// Ends a client process by SIGKILL, and says what was wrong with it before: it had come to an end
/// of its own (a failed assertion, a sanitizer's finding ...), or it had complained on standard
/// error. Empty if nothing was.
std::string kill(test::program& client);

/// Ends its input, on which it finishes its work, and says what was wrong then; empty if nothing.
std::string finish(test::program& client, std::chrono::milliseconds limit);

}  // namespace conch::soak

#endif
