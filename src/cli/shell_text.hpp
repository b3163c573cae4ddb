// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SHELL_TEXT_HPP
#define CONCH_SRC_CLI_SHELL_TEXT_HPP

#include <string>
#include <string_view>

// What is shown for somebody to copy into a shell.
namespace conch::cli {

/// A word, quoted where a shell would not take it as it is.
std::string shell_word(std::string_view text);

/// "conch release --force --redis URL": to the server of this valid URL; empty: the user gave none,
/// and none is shown. "PASSWORD" stands for a password. Such a URL is in $CONCH_REDIS, where ps
/// does not show it.
std::string release_command(std::string_view url);

}  // namespace conch::cli

#endif
