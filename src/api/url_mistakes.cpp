// SPDX-License-Identifier: BSL-1.0
#include "api/url_mistakes.hpp"

#include <algorithm>
#include <cstddef>

namespace conch::impl {
namespace {

/// Where a character stands that no user or password can have as it is (RFC 3986, section 3.2.1).
std::size_t find_unencoded(std::string_view credentials) {
    constexpr std::string_view hex = "0123456789ABCDEFabcdef";
    constexpr std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:";
    for (std::size_t i = 0; i < credentials.size(); ++i) {
        const bool encoded = credentials[i] == '%' && i + 2 < credentials.size() &&
                             hex.find(credentials[i + 1]) != hex.npos &&
                             hex.find(credentials[i + 2]) != hex.npos;
        if (!encoded && allowed.find(credentials[i]) == allowed.npos) {
            return i;
        }
    }
    return credentials.npos;
}

std::string unencoded(char c) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view digits = "0123456789ABCDEF";
    const std::string code{'%', digits[byte >> 4], digits[byte & 15]};
    const bool visible = c > ' ' && c < '\x7f';
    return "a user or a password has " + (visible ? '"' + std::string{c} + '"' : "a character") +
           " that must be percent-encoded, as " + code;
}

/// "host:port,[::1]:port", and so no beginning of a password.
bool is_list_of_hosts(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon != 0 && text.find_first_not_of(
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.,:[]"
                             "%") == text.npos &&
           (colon == text.npos || colon + 1 == text.size() ||
            (text[colon + 1] >= '0' && text[colon + 1] <= '9') || text.starts_with('['));
}

/// What stands where user and password do, with the @ behind them; it may have to be encoded first.
std::string_view raw_credentials(std::string_view url, std::string_view rest) {
    const std::size_t query = std::min(rest.find_first_of("?#"), rest.size());
    const std::string_view before = rest.substr(0, query);
    std::size_t at = url.starts_with("unix:") ? rest.rfind("@/") : before.rfind('@');
    if (at == rest.npos && !is_list_of_hosts(before.substr(0, before.find('/')))) {
        at = rest.rfind('@');
    }
    return at == rest.npos ? std::string_view{} : rest.substr(0, at + 1);
}

}  // namespace

std::string usual_mistake(std::string_view url) {
    const std::size_t slashes = url.find("://");
    if (slashes == url.npos) {
        return {};
    }
    const std::string_view rest = url.substr(slashes + 3);
    const std::string_view credentials = raw_credentials(url, rest);
    const std::size_t bad = find_unencoded(credentials);
    if (bad + 1 < credentials.size() && credentials.substr(0, bad).find(':') != rest.npos) {
        return unencoded(credentials[bad]);
    }
    std::string_view hosts = rest.substr(credentials.size());
    hosts = hosts.substr(0, hosts.find_first_of("/?#"));
    while (!hosts.empty()) {
        const std::string_view one = hosts.substr(0, hosts.find(','));
        const std::string_view host = one.substr(0, one.find('%'));
        if (std::count(host.begin(), host.end(), ':') > 1 &&
            host.find_first_not_of("0123456789ABCDEFabcdef:.") == host.npos) {
            return "an IPv6 address stands in brackets, as in redis://[::1]:6379";
        }
        hosts.remove_prefix(std::min(one.size() + 1, hosts.size()));
    }
    return {};
}

}  // namespace conch::impl
