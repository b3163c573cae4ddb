// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_GREETING_HPP
#define CONCH_BENCH_GREETING_HPP

#include "socket.hpp"

#include <conch/config.hpp>

#include <string>

namespace conch::bench {

/// The commands with which a raw connection begins: HELLO and SELECT as conch says them, and the
/// scripts that it uses; then ECHO of `greeting_end`.
std::string greeting(const config& server);
inline constexpr const char* greeting_end = "conch-bench-ready";

/// Says them and reads the answers. Throws if the server refuses anything.
void greet(socket& s, const config& server);

}  // namespace conch::bench

#endif
