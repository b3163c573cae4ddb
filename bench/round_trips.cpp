// SPDX-License-Identifier: BSL-1.0
#include "round_trips.hpp"

#include <array>
#include <sstream>
#include <string>

namespace conch::bench {
namespace {

// None of these is ever run by a script.
constexpr std::array<std::string_view, 9> by_clients{"eval",        "evalsha",      "script",
                                                     "script|load", "subscribe",    "unsubscribe",
                                                     "ssubscribe",  "sunsubscribe", "asking"};

std::uint64_t value_in(const std::string& line, const std::string& field) {
    const auto from = line.find(field);
    return from == line.npos ? 0 : std::stoull(line.substr(from + field.size()));
}

// Lines of "cmdstat_evalsha:calls=2,...,rejected_calls=0,failed_calls=0".
std::uint64_t said_to(connection& server) {
    std::istringstream lines{server.command({"INFO", "commandstats"}).text};
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
        for (const std::string_view command : by_clients) {
            if (line.starts_with("cmdstat_" + std::string{command} + ':')) {
                sum += value_in(line, ":calls=") + value_in(line, ",rejected_calls=");
            }
        }
    }
    return sum;
}

}  // namespace

round_trips::round_trips(const deployment& servers) {
    if (servers.direct()) {
        for (const config& c : servers.direct()->everyone) {
            servers_.emplace_back(c);
        }
    }
}

std::uint64_t round_trips::now() {
    std::uint64_t sum = 0;
    for (connection& c : servers_) {
        sum += said_to(c);
    }
    return sum;
}

void round_trips::add_to(report& r, std::string_view name) const {
    if (servers_.empty() || things_ == 0) {
        r.add_unknown(name);
        return;
    }
    r.add(name, static_cast<double>(count_) / static_cast<double>(things_), {}, 3);
}

}  // namespace conch::bench
