// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_DEPLOYMENT_HPP
#define CONCH_BENCH_DEPLOYMENT_HPP

#include "direct_access.hpp"
#include "own_servers.hpp"
#include "report.hpp"
#include "server.hpp"

#include <conch/config.hpp>

#include <optional>

namespace conch::bench {

/// The servers that are measured with, of any topology: the chosen ones, or some of our own that
/// end with this object.
class deployment {
public:
    /// Throws `std::invalid_argument` for a bad URL.
    explicit deployment(const server_choice& choice);

    /// For conch.
    const config& settings() const noexcept { return settings_; }
    /// For its limit, and for those who look on; none where all speak TLS alone.
    const std::optional<direct_access>& direct() const noexcept { return direct_; }

    /// Says what is measured with, and how the limit is reached: `topology` and `limit`.
    void describe(report& r) const;

private:
    std::optional<server> one_{};
    std::optional<own_servers> own_{};
    config settings_{};
    std::optional<direct_access> direct_{};
};

}  // namespace conch::bench

#endif
