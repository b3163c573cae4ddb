// SPDX-License-Identifier: BSL-1.0
#include "api/url_mistakes.hpp"

#include "api/percent_encoding.hpp"

#include <algorithm>
#include <cstddef>

namespace conch::impl {
namespace {

// What the parts of a URL may have as it is, beside what is unreserved.
constexpr std::string_view allowed_in_credentials = "!$&'()*+,;=:";        // section 3.2.1
constexpr std::string_view allowed_in_path_and_query = "!$&'()*+,;=:@/?";  // 3.3 and 3.4

/// Where a character stands that the text can't have as it is (RFC 3986).
std::size_t find_unencoded(std::string_view text, std::string_view allowed) {
    constexpr std::string_view hex = "0123456789ABCDEFabcdef";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool encoded = text[i] == '%' && i + 2 < text.size() &&
                             hex.find(text[i + 1]) != hex.npos && hex.find(text[i + 2]) != hex.npos;
        if (!encoded && !is_unreserved(text[i]) && allowed.find(text[i]) == allowed.npos) {
            return i;
        }
    }
    return text.npos;
}

std::string unencoded(const char* where, char c) {
    const bool visible = c > ' ' && c < '\x7f';
    return where + std::string{" has "} + (visible ? '"' + std::string{c} + '"' : "a character") +
           " that must be percent-encoded, as " + percent_encoded(c);
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
    const std::size_t bad = find_unencoded(credentials, allowed_in_credentials);
    if (bad + 1 < credentials.size() && credentials.substr(0, bad).find(':') != rest.npos) {
        return unencoded("a user or a password", credentials[bad]);
    }
    const std::string_view behind = rest.substr(credentials.size());
    std::string_view hosts = behind.substr(0, behind.find_first_of("/?#"));
    const std::string_view tail = behind.substr(hosts.size());
    while (!hosts.empty()) {
        const std::string_view one = hosts.substr(0, hosts.find(','));
        const std::string_view host = one.substr(0, one.find('%'));
        if (std::count(host.begin(), host.end(), ':') > 1 &&
            host.find_first_not_of("0123456789ABCDEFabcdef:.") == host.npos) {
            return "an IPv6 address stands in brackets, as in redis://[::1]:6379";
        }
        hosts.remove_prefix(std::min(one.size() + 1, hosts.size()));
    }
    const std::size_t wrong = find_unencoded(tail, allowed_in_path_and_query);
    // A fragment is another mistake, but in a query it is likelier a part of a password.
    if (wrong < tail.size() && (tail[wrong] != '#' || tail.find('?') < wrong)) {
        return unencoded("a path or a query", tail[wrong]);
    }
    return {};
}

}  // namespace conch::impl
