// SPDX-License-Identifier: BSL-1.0
#include "topology/mapping.hpp"

#include "core/host_name.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace conch::topology {
namespace {

constexpr std::string_view unusable =
    " a server whose host is empty, longer than 255 bytes, begins with a dot, or has spaces or "
    "special characters";

/// What a server told may be anything, too long for a log or made to mislead its reader.
std::string shown(const wire::address& told) {
    return core::is_host(told.host) ? told.text() : "what no server is called";
}

}  // namespace

std::optional<wire::address> reached(const wire::address& told, const address_map& map,
                                     const core::log& log) {
    if (told.host.empty() || told.port == 0) {
        return std::nullopt;
    }
    if (map.function) {
        try {
            server_address at = map.function({told.host, told.port});
            if (core::is_host(at.host) && at.port != 0) {
                return wire::address{std::move(at.host), at.port, {}};
            }
            log(log_level::warning, map.name, " gave", unusable, " (or whose port is 0), for ",
                shown(told));
        } catch (...) {
            log(log_level::error, map.name, " threw an exception for ", shown(told));
        }
    }
    if (core::is_host(told.host)) {
        return told;
    }
    log(log_level::warning, "told of", unusable);
    return std::nullopt;
}

}  // namespace conch::topology
