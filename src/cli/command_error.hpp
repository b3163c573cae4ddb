// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_COMMAND_ERROR_HPP
#define CONCH_SRC_CLI_COMMAND_ERROR_HPP

#include "cli/exit_codes.hpp"

#include <conch/config.hpp>
#include <conch/error.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace conch::cli {

/// Ends a sub-command: one line for standard error, and the exit status.
class command_error : public std::runtime_error {
public:
    command_error(int exit_status, const std::string& text)
        : std::runtime_error{text}, exit_status_{exit_status} {}
    int exit_status() const noexcept { return exit_status_; }

private:
    int exit_status_;
};

/// The command line is wrong.
class usage_error : public command_error {
public:
    explicit usage_error(const std::string& text) : command_error{exit_code::usage, text} {}
};

/// A refusal of the operating system, with the words for `errno`.
command_error os_failure(const std::string& what, int error);

/// Whether these words (`client::last_server_error()`) are an error that Redis answered.
bool is_answer(std::string_view server_words) noexcept;

/// What went wrong with which server, in the server's own words where there are any
/// (`client::last_server_error()`), and what to do about it.
std::string explain(error_code ec, std::string_view server_words, std::string_view server_label);

/// The exit status that stands for an error of the library.
int exit_status_for(error_code ec) noexcept;

}  // namespace conch::cli

#endif
