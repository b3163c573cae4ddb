// SPDX-License-Identifier: BSL-1.0
#include "cli/server_url.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <cstdlib>
#include <stdexcept>

namespace conch::cli {

config choose_server(const std::string& option) {
    std::string source = "--redis";
    std::string url = option;
    if (url.empty()) {
        const char* const set = std::getenv("CONCH_REDIS");
        source = "$CONCH_REDIS";
        url = set != nullptr && *set != '\0' ? set : "redis://127.0.0.1:6379";
    }
    try {
        return config::from_url(url);
    } catch (const std::invalid_argument& e) {
        throw usage_error(source + ": " + e.what());
    }
}

std::string server_label(const config& server) {
    const std::string number = std::to_string(server.database);
    if (!server.unix_path.empty()) {
        return "unix://" + printable(server.unix_path) +
               (server.database != 0 ? "?db=" + number : "");
    }
    const bool ipv6 = server.host.find(':') != std::string::npos;
    const std::string host = printable(ipv6 ? '[' + server.host + ']' : server.host);
    return "redis://" + host + ':' + std::to_string(server.port) +
           (server.database != 0 ? '/' + number : "");
}

}  // namespace conch::cli
