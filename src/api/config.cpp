// SPDX-License-Identifier: BSL-1.0
#include "api/url_mistakes.hpp"
#include "api/url_parts.hpp"
#include "core/host_name.hpp"
#include "driver/tls.hpp"

#include <conch/config.hpp>

#include <boost/url/url_view.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace conch {
namespace {

namespace urls = boost::urls;
using impl::number_in_url;
using impl::parse_url;
using impl::queries_of;
using impl::read_hosts;
using impl::refuse_url;
using impl::several_hosts;

constexpr unsigned most_databases = 1'000'000;

/// The path of a URL. (Boost.URL takes "//a:b@@/c" for an authority and the path "@/c".)
std::string absolute_path(const urls::url_view& u) {
    std::string path = u.path();
    if (!path.empty() && path.front() != '/') {
        refuse_url("what follows the host does not begin with a slash");
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
        refuse_url("a user without a password (write :password@ for the default user)");
    }
    if (c.password.empty()) {
        refuse_url("the password is empty");
    }
}

void read_tcp(config& c, const urls::url_view& u) {
    if (u.has_query() && !c.tls) {
        refuse_url("a redis:// URL has no query (a rediss:// URL may)");
    }
    const std::string path = absolute_path(u);
    if (!path.empty() && path != "/") {
        c.database =
            number_in_url(std::string_view{path}.substr(1), most_databases, "the database");
    }
}

/// The text that a query of this name sets; null if there is none of this name.
std::string* text_of(tls_options& t, std::string_view name) noexcept {
    return name == "cacert"      ? &t.ca_file
           : name == "cacertdir" ? &t.ca_path
           : name == "cert"      ? &t.certificate_file
           : name == "key"       ? &t.private_key_file
           : name == "sni"       ? &t.server_name
                                 : nullptr;
}

bool is_of_sentinels(std::string_view query) noexcept {
    return query == "sentinel_user" || query == "sentinel_password";
}

void read_tls(config& c, const urls::url_view& u) {
    if (!impl::has_tls()) {
        refuse_url("rediss:// needs TLS, and this library is built without it (CONCH_TLS=OFF)");
    }
    tls_options& t = c.tls.emplace();
    for (const auto& p : queries_of(u)) {
        if (c.sentinel && is_of_sentinels(p.key)) {
            continue;
        }
        std::string* const text = text_of(t, p.key);
        if (text != nullptr && !p.value.empty()) {
            *text = p.value;
        } else if (p.key == "insecure" && (p.value == "true" || p.value == "false")) {
            t.verify = p.value == "false";
        } else {
            refuse_url(
                "the queries of a rediss:// URL are cacert, cacertdir, cert, key and sni, each "
                "with a value, and insecure=true");
        }
    }
    const std::string all = t.ca_file + t.ca_path + t.certificate_file + t.private_key_file;
    if (all.find('\0') != std::string::npos || !core::is_host_text(t.server_name)) {
        refuse_url("a query has a character that no path, or no name, can have there");
    }
    if (t.certificate_file.empty() != t.private_key_file.empty()) {
        refuse_url("cert and key go together");
    }
    if (t.server_name.size() > core::longest_host) {
        refuse_url("sni is longer than 255 bytes");
    }
}

void read_unix(config& c, const urls::url_view& u) {
    if (!u.encoded_host().empty() || u.has_port()) {
        refuse_url("a unix:// URL has no host (write three slashes)");
    }
    c.unix_path = absolute_path(u);
    // The longest path that a unix socket's address can hold.
    if (c.unix_path.size() < 2 || c.unix_path.size() > 107) {
        refuse_url("the path of the socket is missing or longer than 107 bytes");
    }
    if (c.unix_path.find('\0') != std::string::npos) {
        refuse_url("the path of the socket has a zero byte");
    }
    for (const auto& p : queries_of(u)) {
        if (p.key != "db") {
            refuse_url("the only query of a unix:// URL is db");
        }
        c.database = number_in_url(p.value, most_databases, "the database");
    }
}

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

// A slash that is encoded belongs to the name.
void read_sentinel_path(config& c, const urls::url_view& u) {
    absolute_path(u);
    const auto parts = u.segments();
    c.sentinel->master = parts.empty() ? std::string{} : parts.front();
    if (c.sentinel->master.empty() || !core::is_plain(c.sentinel->master)) {
        refuse_url("the name of the master is missing, or has spaces or special characters");
    }
    if (parts.size() > 2) {
        refuse_url("more than a master and a database follow the hosts");
    }
    if (parts.size() == 2 && !parts.back().empty()) {
        c.database = number_in_url(parts.back(), most_databases, "the database");
    }
}

void read_sentinel_query(sentinel_options& s, const urls::url_view& u, bool secured) {
    for (const auto& p : queries_of(u)) {
        if (is_of_sentinels(p.key) && p.value.empty()) {
            refuse_url("sentinel_user or sentinel_password has no value");
        }
        if (p.key == "sentinel_user") {
            s.username = p.value;
        } else if (p.key == "sentinel_password") {
            s.password = p.value;
        } else if (!secured) {
            refuse_url(
                "the only queries of a redis+sentinel:// URL are sentinel_user and "
                "sentinel_password");
        }
    }
    if (!s.username.empty() && s.password.empty()) {
        refuse_url("sentinel_user without sentinel_password");
    }
}

void expect_no_comma(std::string_view credentials) {
    if (credentials.find(',') != credentials.npos) {
        refuse_url(
            "a comma before the last @: user and password stand before the first host, and a comma "
            "in them is written %2C");
    }
}

config read_single(std::string_view url, bool secured) {
    several_hosts hosts = read_hosts(url, redis_port);
    if (hosts.addresses.size() > 1) {
        refuse_url("several hosts are those of a redis+sentinel:// or a redis+cluster:// URL");
    }
    const urls::url_view u = parse_url(hosts.single);
    config c;
    read_credentials(c, u);
    if (secured) {
        read_tls(c, u);
    }
    read_tcp(c, u);
    c.host = std::move(hosts.addresses.front().host);
    c.port = hosts.addresses.front().port;
    return c;
}

config read_sentinel(std::string_view url, bool secured) {
    several_hosts hosts = read_hosts(url, sentinel_port);
    expect_no_comma(hosts.before);
    const urls::url_view u = parse_url(hosts.single);
    config c;
    read_credentials(c, u);
    c.sentinel.emplace();
    read_sentinel_path(c, u);
    read_sentinel_query(*c.sentinel, u, secured);
    if (secured) {
        read_tls(c, u);
    }
    c.sentinel->addresses = std::move(hosts.addresses);
    return c;
}

config read_cluster(std::string_view url, bool secured) {
    several_hosts hosts = read_hosts(url, redis_port);
    expect_no_comma(hosts.before);
    const urls::url_view u = parse_url(hosts.single);
    config c;
    read_credentials(c, u);
    if (secured) {
        read_tls(c, u);
    } else if (u.has_query()) {
        refuse_url("a redis+cluster:// URL has no query (a rediss+cluster:// URL may)");
    }
    const std::string path = absolute_path(u);
    if (!path.empty() && path != "/") {
        refuse_url("a cluster has no databases but the first: nothing follows the hosts");
    }
    c.cluster.emplace().addresses = std::move(hosts.addresses);
    return c;
}

config read_socket(std::string_view url, bool) {
    const urls::url_view u = parse_url(url);
    config c;
    read_credentials(c, u);
    read_unix(c, u);
    return c;
}

struct scheme {
    std::string_view start;
    config (*read)(std::string_view url, bool secured);
    bool secured = false;
};

constexpr std::array schemes{
    scheme{"redis://", read_single},
    scheme{"rediss://", read_single, true},
    scheme{"redis+sentinel://", read_sentinel},
    scheme{"rediss+sentinel://", read_sentinel, true},
    scheme{"redis+cluster://", read_cluster},
    scheme{"rediss+cluster://", read_cluster, true},
    scheme{"unix://", read_socket},
    scheme{"unix:/", read_socket},  // without an authority (RFC 8089 has the same of files)
};

config read(std::string_view url) {
    for (const scheme& s : schemes) {
        if (url.starts_with(s.start)) {
            return s.read(url, s.secured);
        }
    }
    refuse_url("the scheme is missing or unknown");
}

}  // namespace

config config::from_url(std::string_view url) {
    try {
        return read(url);
    } catch (const std::invalid_argument&) {
        if (const std::string mistake = impl::usual_mistake(url); !mistake.empty()) {
            refuse_url(mistake);
        }
        throw;
    }
}

}  // namespace conch
