// SPDX-License-Identifier: BSL-1.0
#include "cli/server_url.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <conch/client.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace conch::cli {
namespace {

/// How much of "host:port/path" can't be a password: all up to a query, or up to what stands in
/// the place of the port and is none.
std::size_t length_of_address(std::string_view text) {
    const std::size_t mark = text.find_first_of("?#");
    const std::size_t end = mark == text.npos ? text.size() : mark + 1;
    const std::size_t host_end = std::min(text.find_first_of("/?#"), end);
    const std::size_t bracket = text.substr(0, host_end).rfind(']');
    const std::size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
    if (colon >= host_end) {
        return end;
    }
    const std::string_view port = text.substr(colon + 1, host_end - colon - 1);
    const bool is_port = port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
    return is_port ? end : colon + 1;
}

}  // namespace

std::vector<std::string> urls_of_environment() {
    const char* const set = std::getenv("CONCH_REDIS");
    std::istringstream words{set != nullptr ? set : "redis://127.0.0.1:6379"};
    std::vector<std::string> urls{std::istream_iterator<std::string>{words}, {}};
    if (urls.empty()) {
        throw usage_error("$CONCH_REDIS must not be empty; unset, it is redis://127.0.0.1:6379");
    }
    return urls;
}

config server_of(const std::string& url, const std::string& source) {
    try {
        config server = config::from_url(url);
        if (server.tls) {  // its files are read now, where what is wrong can be told of the URL
            boost::asio::io_context nothing_runs;
            const client unused{nothing_runs, server};
        }
        return server;
    } catch (const std::invalid_argument& e) {
        throw usage_error(source + ' ' + in_quotes(url_without_secrets(url)) + ": " +
                          plain_reason(e.what()));
    }
}

std::string url_without_secrets(std::string_view url) {
    constexpr std::string_view hidden = "***";
    const std::size_t slashes = url.find("://");
    const std::size_t start = slashes == url.npos ? 0 : slashes + 3;
    std::string out{url.substr(0, start)};
    std::string_view rest = url.substr(start);
    // A password that isn't encoded may hold any of /?#: and even an @.
    if (const std::size_t at = rest.rfind('@'); at != rest.npos) {
        if (rest.find_first_of("?#") < at) {
            return out + std::string{hidden};  // that @ may be within a query's password
        }
        out += hidden;
        rest.remove_prefix(at);
    } else if (slashes == url.npos && rest.find_first_of(".:/") == rest.npos) {
        return std::string{hidden};
    }
    const std::size_t known = length_of_address(rest);
    out += rest.substr(0, known);
    if (known < rest.size()) {
        out += hidden;
    }
    return out;
}

}  // namespace conch::cli
