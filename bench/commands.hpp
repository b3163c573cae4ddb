// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_COMMANDS_HPP
#define CONCH_BENCH_COMMANDS_HPP

#include "command.hpp"

// The benchmarks, each in a file of its name.
namespace conch::bench {

sub_command uncontended_command();
sub_command calls_command();
sub_command local_command();
sub_command contended_command();
sub_command handoff_command();
sub_command holds_command();
sub_command names_command();
sub_command reconnect_command();
sub_command instructions_command();
/// Not for users: `instructions` runs it under callgrind.
sub_command slices_command();

}  // namespace conch::bench

#endif
