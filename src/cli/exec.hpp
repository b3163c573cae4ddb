// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_EXEC_HPP
#define CONCH_SRC_CLI_EXEC_HPP

#include "cli/command_error.hpp"
#include "cli/command_line.hpp"

#include <csignal>
#include <string>

namespace conch::cli {

/// Why a command can't be executed, by the errno of exec, with the exit status that a shell gives
/// it.
command_error exec_failure(const std::string& program, int error);

/// Replaces this process by the command, which is looked up in $PATH, with this mask of blocked
/// signals. Returns if that fails: why, and this process has its own mask again.
command_error replace_process(word_list words, const sigset_t& mask);

}  // namespace conch::cli

#endif
