// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SERVER_URL_HPP
#define CONCH_SRC_CLI_SERVER_URL_HPP

#include <conch/config.hpp>

#include <string>
#include <string_view>

namespace conch::cli {

/// The server to use: `option` (the value of --redis, empty if it was not given), else
/// $CONCH_REDIS, else redis://127.0.0.1:6379. Throws `usage_error` for a malformed URL.
config choose_server(const std::string& option);

/// A URL, maybe a malformed one, for a message: whatever could be a password in it is "***".
std::string url_without_secrets(std::string_view url);

/// "redis://127.0.0.1:6379" or "unix:///path": where it is, without user and password.
std::string server_label(const config& server);

}  // namespace conch::cli

#endif
