// SPDX-License-Identifier: BSL-1.0
#include "cli/shell_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace conch::cli {
namespace {

constexpr std::string_view hidden = "PASSWORD";

/// Their values are no secrets. A key that is encoded is none of them.
constexpr std::array<std::string_view, 8> open_queries{
    "db", "cacert", "cacertdir", "cert", "key", "sni", "insecure", "sentinel_user"};

std::string query_without_password(std::string_view query) {
    std::string out;
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        const std::string_view key = one.substr(0, one.find('='));
        const bool is_open =
            std::find(open_queries.begin(), open_queries.end(), key) != open_queries.end();
        out.append(is_open ? one : std::string{key}.append("=").append(hidden));
        query.remove_prefix(one.size());
        if (!query.empty()) {
            out += '&';
            query.remove_prefix(1);
        }
    }
    return out;
}

// Within a valid URL, what is before the first slash is user, password and hosts.
std::string without_password(std::string_view url) {
    const std::size_t begin = url.find("://") + 3;
    const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
    const std::size_t at = url.substr(0, end).rfind('@');
    std::string out{url.substr(0, begin)};
    std::string_view rest = url.substr(begin);
    if (at != url.npos) {
        const std::string_view user = rest.substr(0, rest.find(':'));
        out.append(user).append(":").append(hidden);
        rest = url.substr(at);
    }
    const std::size_t query = rest.find('?');
    out += rest.substr(0, query);
    if (query != rest.npos) {
        out += '?' + query_without_password(rest.substr(query + 1));
    }
    return out;
}

}  // namespace

std::string shell_word(std::string_view text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.,:/@%+=";
    // Zsh reads "=NAME" as the path of a program.
    if (!text.empty() && text.find_first_not_of(plain) == text.npos && text.front() != '=') {
        return std::string{text};
    }
    std::string out{'\''};
    for (const char c : text) {
        out += c == '\'' ? "'\\''" : std::string{c};
    }
    return out + '\'';
}

std::string release_command(std::string_view url) {
    const std::string command = "conch release --force";
    if (url.empty()) {
        return command;
    }
    const std::string shown = without_password(url);
    return shown == url ? command + " --redis " + shell_word(shown)
                        : "CONCH_REDIS=" + shell_word(shown) + ' ' + command;
}

}  // namespace conch::cli
