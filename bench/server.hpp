// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_SERVER_HPP
#define CONCH_BENCH_SERVER_HPP

#include "cli/private_redis.hpp"

#include <conch/config.hpp>

#include <optional>
#include <string>

namespace conch::bench {

/// How servers stand in for each other, and how they are reached.
enum class topology { single, tls, sentinel, cluster };

/// Where to measure: the URL that was given, or servers of our own: as wanted, or one.
struct server_choice {
    std::optional<std::string> url{};
    std::optional<topology> own{};
};

/// The server that is measured with: the chosen one, or one of our own that ends with this object.
class server {
public:
    /// Throws `std::invalid_argument` for a bad URL.
    explicit server(const server_choice& choice);

    const config& settings() const noexcept { return settings_; }

private:
    std::optional<cli::private_redis> own_;
    config settings_;
};

}  // namespace conch::bench

#endif
