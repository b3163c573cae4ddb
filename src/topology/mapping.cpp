// SPDX-License-Identifier: BSL-1.0
#include "topology/mapping.hpp"

#include "core/host_name.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace conch::topology {
namespace {

constexpr std::size_t most_in_full = 10;  // in the log, in a minute

constexpr std::string_view unusable =
    " a server whose host is empty, longer than 255 bytes, begins with a dot, or has spaces or "
    "special characters";

/// What a server told may be anything, too long for a log or made to mislead its reader.
std::string shown(const wire::address& told) {
    return core::is_host(told.host) ? told.text() : "what no server is called";
}

}  // namespace

std::optional<wire::address> reached(const wire::address& told, const address_map& map,
                                     core::repeated_log& log) {
    if (told.host.empty() || told.port == 0) {
        return std::nullopt;
    }
    if (map.function) {
        try {
            server_address at = map.function({told.host, told.port});
            if (core::is_host(at.host) && at.port != 0) {
                return wire::address{std::move(at.host), at.port, {}};
            }
            const std::string what =
                std::string{map.name}.append(" gave").append(unusable).append(
                    " (or whose port is 0)");
            log(log_level::warning, what, what + ", for " + shown(told), most_in_full);
        } catch (...) {
            const std::string what = std::string{map.name} + " threw an exception";
            log(log_level::error, what, what + " for " + shown(told), most_in_full);
        }
    }
    if (core::is_host(told.host)) {
        return told;
    }
    const std::string what = std::string{"told of"}.append(unusable);
    log(log_level::warning, what, what);
    return std::nullopt;
}

}  // namespace conch::topology
