// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_ROUND_TRIPS_HPP
#define CONCH_BENCH_ROUND_TRIPS_HPP

#include "connection.hpp"
#include "deployment.hpp"
#include "report.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace conch::bench {

/// Counts, by what all servers say of themselves (INFO commandstats), what clients asked them to
/// do: scripts, those that were sent elsewhere or refused too, and subscriptions. What is said by
/// the clock, such as PING, and to sentinels, is left out. Nobody else may use them meanwhile.
class round_trips {
public:
    explicit round_trips(const deployment& servers);

    /// Counts what this does, which is so many things as it returns.
    template <typename Run>
    void during(Run run) {
        const std::uint64_t before = now();
        things_ += run();
        count_ += now() - before;
    }

    /// How many there were for each thing; not measured where there is nobody to ask.
    void add_to(report& r, std::string_view name) const;

private:
    std::uint64_t now();

    std::deque<connection> servers_{};
    std::uint64_t count_ = 0;
    std::size_t things_ = 0;
};

}  // namespace conch::bench

#endif
