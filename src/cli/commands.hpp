// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_COMMANDS_HPP
#define CONCH_SRC_CLI_COMMANDS_HPP

#include "cli/command_line.hpp"

// The sub-commands. Each gets the words after its name, returns the exit status of the program,
// and throws `command_error`.
namespace conch::cli {

int demo(const word_list& words);
/// One of the demo's processes; started by `demo` alone.
int demo_worker(const word_list& words);
int hold_lock(const word_list& words);
int ls(const word_list& words);
int rate(const word_list& words);
int release(const word_list& words);
int run(const word_list& words);
int status(const word_list& words);
int top(const word_list& words);
int watch(const word_list& words);
int who(const word_list& words);

}  // namespace conch::cli

#endif
