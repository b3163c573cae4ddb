// SPDX-License-Identifier: BSL-1.0
#include "api/url_mistakes.hpp"
#include "core/host_name.hpp"
#include "driver/tls.hpp"

#include <conch/config.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

namespace conch {
namespace {

namespace urls = boost::urls;

[[noreturn]] void refuse(const std::string& why) {
    throw std::invalid_argument{
        "conch::config::from_url: " + why +
        "; expected redis://[user:password@]host[:port][/db] (or rediss://), "
        "unix://[:password@]/path[?db=N], "
        "redis+sentinel://[user:password@]host[:port],.../master[/db] (or rediss+sentinel://) or "
        "redis+cluster://[user:password@]host[:port],... (or rediss+cluster://)"};
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

urls::url_view parse(std::string_view url);

/// "[fe80::1%25eth0]:6379" and its kind: a parser of URLs may not know of zones.
struct zoned {
    std::string text;    ///< without the zone
    std::string zone{};  ///< "%eth0", as the system writes it
};

zoned split_zone(std::string_view text) {
    const std::size_t end = text.find(']');
    const std::size_t mark = text.find('%');
    if (!text.starts_with('[') || end == text.npos || mark > end) {
        return {std::string{text}};
    }
    const std::string_view zone = text.substr(mark, end - mark);
    if (!zone.starts_with("%25") || zone.size() == 3 || zone.find('%', 1) != zone.npos) {
        refuse("the zone of an IPv6 address is written as in [fe80::1%25eth0]");
    }
    return {std::string{text.substr(0, mark)} + std::string{text.substr(end)},
            '%' + std::string{zone.substr(3)}};
}

/// Of "host:port".
server_address read_address(std::string_view text, std::uint16_t usual_port) {
    const zoned host = split_zone(text);
    const std::string url = "redis://" + host.text;
    const urls::url_view u = parse(url);
    if (!u.has_authority() || u.encoded_host().empty()) {
        refuse("the host is missing");
    }
    server_address a{
        u.host_type() == urls::host_type::ipv6 ? std::string{u.host_address()} + host.zone
                                               : u.host(),
        usual_port};
    if (!core::is_host_text(a.host)) {
        refuse("the host has spaces or special characters, or begins with a dot");
    }
    if (a.host.size() > core::longest_host) {
        refuse("a host is longer than 255 bytes");
    }
    if (u.has_port()) {
        a.port = static_cast<std::uint16_t>(
            number(u.port(), std::numeric_limits<std::uint16_t>::max(), "the port"));
        if (a.port == 0) {
            refuse("the port is 0");
        }
    }
    return a;
}

void read_tcp(config& c, const urls::url_view& u) {
    if (u.has_query() && !c.tls) {
        refuse("a redis:// URL has no query (a rediss:// URL may)");
    }
    const std::string path = absolute_path(u);
    if (!path.empty() && path != "/") {
        c.database = number(std::string_view{path}.substr(1), most_databases, "the database");
    }
}

/// A + is a +: in a password, or a path, it is likelier than a blank.
urls::params_view queries(const urls::url_view& u) {
    urls::encoding_opts literal;
    literal.space_as_plus = false;
    return u.params(literal);
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
        refuse("rediss:// needs TLS, and this library is built without it (CONCH_TLS=OFF)");
    }
    tls_options& t = c.tls.emplace();
    for (const auto& p : queries(u)) {
        if (c.sentinel && is_of_sentinels(p.key)) {
            continue;
        }
        std::string* const text = text_of(t, p.key);
        if (text != nullptr && !p.value.empty()) {
            *text = p.value;
        } else if (p.key == "insecure" && (p.value == "true" || p.value == "false")) {
            t.verify = p.value == "false";
        } else {
            refuse(
                "the queries of a rediss:// URL are cacert, cacertdir, cert, key and sni, each "
                "with a value, and insecure=true");
        }
    }
    const std::string all = t.ca_file + t.ca_path + t.certificate_file + t.private_key_file;
    if (all.find('\0') != std::string::npos || !core::is_host_text(t.server_name)) {
        refuse("a query has a character that no path, or no name, can have there");
    }
    if (t.certificate_file.empty() != t.private_key_file.empty()) {
        refuse("cert and key go together");
    }
    if (t.server_name.size() > core::longest_host) {
        refuse("sni is longer than 255 bytes");
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
    for (const auto& p : queries(u)) {
        if (p.key != "db") {
            refuse("the only query of a unix:// URL is db");
        }
        c.database = number(p.value, most_databases, "the database");
    }
}

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

urls::url_view parse(std::string_view url) {
    const auto parsed = urls::parse_uri(url);
    if (!parsed) {
        refuse("not a URL");
    }
    if (parsed->has_fragment()) {
        refuse("a fragment (#) has no meaning here");
    }
    std::set<std::string> seen;
    for (const auto& p : queries(*parsed)) {
        if (!seen.insert(p.key).second) {
            refuse("a query is there twice");
        }
    }
    return *parsed;
}

// A slash that is encoded belongs to the name.
void read_sentinel_path(config& c, const urls::url_view& u) {
    absolute_path(u);
    const auto parts = u.segments();
    c.sentinel->master = parts.empty() ? std::string{} : parts.front();
    if (c.sentinel->master.empty() || !core::is_plain(c.sentinel->master)) {
        refuse("the name of the master is missing, or has spaces or special characters");
    }
    if (parts.size() > 2) {
        refuse("more than a master and a database follow the hosts");
    }
    if (parts.size() == 2 && !parts.back().empty()) {
        c.database = number(parts.back(), most_databases, "the database");
    }
}

void read_sentinel_query(sentinel_options& s, const urls::url_view& u, bool secured) {
    for (const auto& p : queries(u)) {
        if (is_of_sentinels(p.key) && p.value.empty()) {
            refuse("sentinel_user or sentinel_password has no value");
        }
        if (p.key == "sentinel_user") {
            s.username = p.value;
        } else if (p.key == "sentinel_password") {
            s.password = p.value;
        } else if (!secured) {
            refuse(
                "the only queries of a redis+sentinel:// URL are sentinel_user and "
                "sentinel_password");
        }
    }
    if (!s.username.empty() && s.password.empty()) {
        refuse("sentinel_user without sentinel_password");
    }
}

/// The parts of a URL that may name several hosts.
struct several_hosts {
    std::string_view before;  ///< user and password
    std::string single{};     ///< a URL of the first host only, without a zone
    std::vector<server_address> addresses{};
};

void expect_no_comma(std::string_view credentials) {
    if (credentials.find(',') != credentials.npos) {
        refuse(
            "a comma before the last @: user and password stand before the first host, and a comma "
            "in them is written %2C");
    }
}

// Several hosts are no authority to a parser of URLs: it sees the first of them.
several_hosts read_hosts(std::string_view url, std::uint16_t usual_port) {
    const std::size_t start = url.find("://") + 3;
    const std::size_t end = std::min(url.find_first_of("/?#", start), url.size());
    const std::size_t at = url.substr(0, end).rfind('@');
    const std::size_t begin = at == url.npos ? start : at + 1;
    std::string_view hosts = url.substr(begin, end - begin);
    const std::string_view first = hosts.substr(0, hosts.find(','));
    several_hosts all{.before = url.substr(start, begin - start)};
    all.single = std::string{url.substr(0, begin)} + split_zone(first).text;
    all.single += url.substr(end);
    parse(all.single);
    while (true) {
        const std::size_t comma = hosts.find(',');
        all.addresses.push_back(read_address(hosts.substr(0, comma), usual_port));
        if (comma == hosts.npos) {
            return all;
        }
        hosts.remove_prefix(comma + 1);
    }
}

config read_single(std::string_view url, bool secured) {
    several_hosts hosts = read_hosts(url, redis_port);
    if (hosts.addresses.size() > 1) {
        refuse("several hosts are those of a redis+sentinel:// or a redis+cluster:// URL");
    }
    const urls::url_view u = parse(hosts.single);
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
    const urls::url_view u = parse(hosts.single);
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
    const urls::url_view u = parse(hosts.single);
    config c;
    read_credentials(c, u);
    if (secured) {
        read_tls(c, u);
    } else if (u.has_query()) {
        refuse("a redis+cluster:// URL has no query (a rediss+cluster:// URL may)");
    }
    const std::string path = absolute_path(u);
    if (!path.empty() && path != "/") {
        refuse("a cluster has no databases but the first: nothing follows the hosts");
    }
    c.cluster.emplace().addresses = std::move(hosts.addresses);
    return c;
}

config read_socket(std::string_view url, bool) {
    const urls::url_view u = parse(url);
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
    refuse("the scheme is missing or unknown");
}

}  // namespace

config config::from_url(std::string_view url) {
    try {
        return read(url);
    } catch (const std::invalid_argument&) {
        if (const std::string mistake = impl::usual_mistake(url); !mistake.empty()) {
            refuse(mistake);
        }
        throw;
    }
}

}  // namespace conch
