// SPDX-License-Identifier: BSL-1.0
#include "api/check_config.hpp"

#include <conch/config.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>

namespace conch {
namespace {

namespace urls = boost::urls;

[[noreturn]] void refuse(const std::string& why) {
    throw std::invalid_argument{
        "conch::config::from_url: " + why +
        "; expected redis://[user:password@]host[:port][/db] or unix:///path?db=N"};
}

unsigned number(std::string_view text, unsigned most, const char* what) {
    unsigned n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (bad != std::errc{} || end != text.data() + text.size() || n > most) {
        refuse(std::string{what} + " is not a number from 0 to " + std::to_string(most));
    }
    return n;
}

constexpr unsigned most_databases = 1'000'000;

/// The path of a URL. (Boost.URL takes "//a:b@@/c" for an authority and the path "@/c".)
std::string absolute_path(const urls::url_view& u) {
    std::string path = u.path();
    if (!path.empty() && path.front() != '/') {
        refuse("what follows the host does not begin with a slash");
    }
    return path;
}

void read_credentials(config& c, const urls::url_view& u) {
    if (!u.has_userinfo()) {
        return;
    }
    c.username = u.user();
    c.password = u.password();
    if (!u.has_password()) {
        refuse("a user without a password (write :password@ for the default user)");
    }
    if (c.password.empty()) {
        refuse("the password is empty");
    }
}

void read_tcp(config& c, const urls::url_view& u) {
    if (!u.has_authority() || u.encoded_host().empty()) {
        refuse("the host is missing");
    }
    c.host = u.host_type() == urls::host_type::ipv6 ? std::string{u.host_address()} : u.host();
    if (!impl::is_plain(c.host)) {
        refuse("the host has spaces or special characters");
    }
    if (u.has_port()) {
        c.port = static_cast<std::uint16_t>(
            number(u.port(), std::numeric_limits<std::uint16_t>::max(), "the port"));
        if (c.port == 0) {
            refuse("the port is 0");
        }
    }
    if (u.has_query()) {
        refuse("a redis:// URL has no query");
    }
    const std::string path = absolute_path(u);
    if (!path.empty() && path != "/") {
        c.database = number(std::string_view{path}.substr(1), most_databases, "the database");
    }
}

void read_unix(config& c, const urls::url_view& u) {
    if (!u.encoded_host().empty() || u.has_port()) {
        refuse("a unix:// URL has no host (write three slashes)");
    }
    c.unix_path = absolute_path(u);
    // The longest path that a unix socket's address can hold.
    if (c.unix_path.size() < 2 || c.unix_path.size() > 107) {
        refuse("the path of the socket is missing or longer than 107 bytes");
    }
    if (c.unix_path.find('\0') != std::string::npos) {
        refuse("the path of the socket has a zero byte");
    }
    for (const auto& p : u.params()) {
        if (p.key != "db") {
            refuse("the only query of a unix:// URL is db");
        }
        c.database = number(p.value, most_databases, "the database");
    }
}

}  // namespace

config config::from_url(std::string_view url) {
    const auto parsed = urls::parse_uri(urls::string_view{url.data(), url.size()});
    if (!parsed) {
        refuse("not a URL");
    }
    const urls::url_view u = *parsed;
    if (u.has_fragment()) {
        refuse("a fragment (#) has no meaning here");
    }
    config c;
    read_credentials(c, u);
    if (u.scheme() == "redis") {
        read_tcp(c, u);
    } else if (u.scheme() == "unix") {
        read_unix(c, u);
    } else {
        refuse("unknown scheme");
    }
    return c;
}

}  // namespace conch
