// SPDX-License-Identifier: BSL-1.0
#include "api/url_parts.hpp"

#include "core/host_name.hpp"
#include "core/number.hpp"

#include <boost/url/parse.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace conch::impl {
namespace {

namespace urls = boost::urls;

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
        refuse_url("the zone of an IPv6 address is written as in [fe80::1%25eth0]");
    }
    return {std::string{text.substr(0, mark)} + std::string{text.substr(end)},
            '%' + std::string{zone.substr(3)}};
}

/// Of "host:port".
server_address read_address(std::string_view text, std::uint16_t usual_port) {
    const zoned host = split_zone(text);
    const std::string url = "redis://" + host.text;
    const urls::url_view u = parse_url(url);
    if (!u.has_authority() || u.encoded_host().empty()) {
        refuse_url("the host is missing");
    }
    server_address a{u.host_type() == urls::host_type::ipv6
                         ? std::string{u.host_address()} + host.zone
                         : u.host(),
                     usual_port};
    if (!core::is_host_text(a.host)) {
        refuse_url("the host has spaces or special characters, or begins with a dot");
    }
    if (a.host.size() > core::longest_host) {
        refuse_url("a host is longer than 255 bytes");
    }
    if (u.has_port()) {
        a.port = static_cast<std::uint16_t>(
            number_in_url(u.port(), std::numeric_limits<std::uint16_t>::max(), "the port"));
        if (a.port == 0) {
            refuse_url("the port is 0");
        }
    }
    return a;
}

}  // namespace

[[noreturn]] void refuse_url(const std::string& why) {
    throw std::invalid_argument{
        "conch::config::from_url: " + why +
        "; expected redis://[user:password@]host[:port][/db] (or rediss://), "
        "unix://[:password@]/path[?db=N], "
        "redis+sentinel://[user:password@]host[:port],.../master[/db] (or rediss+sentinel://) or "
        "redis+cluster://[user:password@]host[:port],... (or rediss+cluster://)"};
}

unsigned number_in_url(std::string_view text, unsigned most, const char* what) {
    const auto n = core::number_in<unsigned>(text);
    if (!n || *n > most) {
        refuse_url(std::string{what} + " is not a number from 0 to " + std::to_string(most));
    }
    return *n;
}

urls::url_view parse_url(std::string_view url) {
    const auto parsed = urls::parse_uri(url);
    if (!parsed) {
        refuse_url("not a URL");
    }
    if (parsed->has_fragment()) {
        refuse_url("a fragment (#) has no meaning here");
    }
    std::set<std::string> seen;
    for (const auto& p : queries_of(*parsed)) {
        if (!seen.insert(p.key).second) {
            refuse_url("a query is there twice");
        }
    }
    return *parsed;
}

urls::params_view queries_of(const urls::url_view& u) {
    urls::encoding_opts literal;
    literal.space_as_plus = false;
    return u.params(literal);
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
    parse_url(all.single);
    while (true) {
        const std::size_t comma = hosts.find(',');
        all.addresses.push_back(read_address(hosts.substr(0, comma), usual_port));
        if (comma == hosts.npos) {
            return all;
        }
        hosts.remove_prefix(comma + 1);
    }
}

}  // namespace conch::impl
