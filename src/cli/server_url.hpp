// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SERVER_URL_HPP
#define CONCH_SRC_CLI_SERVER_URL_HPP

#include <conch/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// The URLs that $CONCH_REDIS has, with spaces between them; without it redis://127.0.0.1:6379.
std::vector<std::string> urls_of_environment();

/// The server of a URL that `source` gave ("--redis"). Throws `usage_error` for a malformed one.
config server_of(const std::string& url, const std::string& source);

/// A URL, maybe a malformed one, for a message: whatever could be a password in it is "***".
std::string url_without_secrets(std::string_view url);

}  // namespace conch::cli

#endif
