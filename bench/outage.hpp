// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_OUTAGE_HPP
#define CONCH_BENCH_OUTAGE_HPP

#include "connection.hpp"
#include "event_loop.hpp"
#include "server.hpp"

#include <optional>
#include <string>
#include <vector>

namespace conch::bench {

/// A server whose clients lose their connections when it is wanted: one of our own is killed and
/// started again with its data; any other only ends the connections of these names.
class outage {
public:
    outage(const server_choice& where, std::vector<std::string> client_names);

    const config& settings() const noexcept { return settings_; }

    /// Ends the connections. Returns since when clients may come back: the start of the new
    /// process.
    steady::time_point strike();

private:
    std::optional<cli::private_redis> own_;
    config settings_;
    std::optional<connection> control_;
    std::vector<std::string> client_names_;
};

}  // namespace conch::bench

#endif
