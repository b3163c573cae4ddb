// SPDX-License-Identifier: BSL-1.0
#include "command.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string_view>

namespace conch::bench {
namespace {

namespace po = boost::program_options;

std::string text_of(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

std::string range_of(const parameter& p) { return text_of(p.least) + " to " + text_of(p.most); }

struct named_topology {
    std::string_view name;
    topology of;
};
constexpr named_topology topologies[] = {{"single", topology::single},
                                         {"tls", topology::tls},
                                         {"sentinel", topology::sentinel},
                                         {"cluster", topology::cluster}};

void add_server_options(po::options_description& d, server_kind kind) {
    const auto url = [] { return po::value<std::string>()->value_name("URL"); };
    if (kind == server_kind::plain) {
        d.add_options()("redis", url(),
                        "the server: redis://[user:password@]host[:port][/db] or unix:///path?db=N "
                        "(default: a private redis-server on a unix socket)");
        return;
    }
    d.add_options()("redis", url(),
                    "the servers: any URL of conch, such as redis+sentinel://host,host/master or "
                    "redis+cluster://host,host (default: a private redis-server on a unix socket)")(
        "topology", po::value<std::string>()->value_name("NAME"),
        "instead, private servers on 127.0.0.1: single (one), tls (one, by TLS), sentinel (a "
        "master, two replicas and three sentinels) or cluster (three masters, each with a "
        "replica)");
}

po::options_description options_of(const sub_command& c) {
    po::options_description d{"Options"};
    for (const parameter& p : c.parameters) {
        const std::string help =
            std::string{p.help} + " (" + range_of(p) + "; default " + text_of(p.fallback) + ")";
        if (p.type == parameter::kind::whole) {
            d.add_options()(p.name, po::value<std::int64_t>()->value_name("N"), help.c_str());
        } else {
            d.add_options()(p.name, po::value<double>()->value_name("X"), help.c_str());
        }
    }
    add_server_options(d, c.kind);
    d.add_options()("json", "print one JSON object")("help", "print this, and end");
    return d;
}

double value_of(const parameter& p, const po::variables_map& given) {
    if (given.count(p.name) == 0) {
        return p.fallback;
    }
    const double value = p.type == parameter::kind::whole
                             ? static_cast<double>(given[p.name].as<std::int64_t>())
                             : given[p.name].as<double>();
    if (!(value >= p.least && value <= p.most)) {  // not a number, too
        throw usage_error{std::string{"--"} + p.name + " is out of its range: " + range_of(p)};
    }
    return value;
}

po::variables_map parse(const po::options_description& options,
                        const std::vector<std::string>& words) {
    using namespace po::command_line_style;
    po::variables_map given;
    po::store(po::command_line_parser{words}
                  .options(options)
                  .positional({})
                  .style(allow_long | long_allow_next | long_allow_adjacent)
                  .run(),
              given);
    return given;
}

/// Throws `usage_error` for what this kind of benchmark can't measure with.
void check_url(server_kind kind, const std::string& url) {
    try {
        const config c = config::from_url(url);
        if (kind == server_kind::plain && (c.tls || c.sentinel || c.cluster)) {
            throw usage_error{"--redis: this benchmark wants one server, without TLS"};
        }
    } catch (const std::invalid_argument& e) {
        throw usage_error{std::string{"--redis: "} + e.what()};
    }
}

topology topology_named(const std::string& name) {
    const auto* const found =
        std::ranges::find(topologies, std::string_view{name}, &named_topology::name);
    if (found == std::end(topologies)) {
        throw usage_error{"--topology: single, tls, sentinel or cluster"};
    }
    return found->of;
}

server_choice chosen_servers(server_kind kind, const po::variables_map& given) {
    server_choice out;
    if (given.count("redis") != 0) {
        out.url = given["redis"].as<std::string>();
        check_url(kind, *out.url);
    }
    if (given.count("topology") != 0) {
        out.own = topology_named(given["topology"].as<std::string>());
    }
    if (out.url && out.own) {
        throw usage_error{"--redis or --topology, not both"};
    }
    return out;
}

void print_help(const sub_command& c, const po::options_description& options) {
    std::cout << "conch_bench " << c.name << ": " << c.summary << "\n\n"
              << c.text << '\n'
              << options;
}

}  // namespace

void run_command(const sub_command& c, const std::vector<std::string>& words) {
    const po::options_description options = options_of(c);
    po::variables_map given;
    arguments how;
    try {
        given = parse(options, words);
        if (given.count("help") != 0) {
            print_help(c, options);
            return;
        }
        for (const parameter& p : c.parameters) {
            how.values_[p.name] = value_of(p, given);
        }
    } catch (const po::error& e) {
        throw usage_error{e.what()};
    }
    const server_choice where = chosen_servers(c.kind, given);
    const report result = c.run(where, how);
    std::cout << (given.count("json") != 0 ? result.json() : result.table()) << std::flush;
    if (!std::cout) {
        throw std::runtime_error{"standard output can't be written"};
    }
}

}  // namespace conch::bench
