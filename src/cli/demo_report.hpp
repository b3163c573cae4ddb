// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_DEMO_REPORT_HPP
#define CONCH_SRC_CLI_DEMO_REPORT_HPP

#include "cli/demo_board.hpp"
#include "cli/demo_workers.hpp"

#include <conch/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace conch::cli {

/// What the workers did, added up.
struct demo_totals {
    std::uint64_t acquisitions = 0;
    std::uint64_t increments = 0;
    std::uint64_t counter = 0;  ///< less than `increments`: updates were lost
    std::uint64_t overlaps = 0;
    std::uint64_t fence_errors = 0;
    std::uint64_t lost_holds = 0;
    std::uint64_t local_hand_offs = 0;
    std::uint64_t remote_hand_offs = 0;
    duration wait_p50{};
    duration wait_p99{};

    /// The lock did not do its duty.
    bool broken() const noexcept {
        return counter != increments || overlaps != 0 || fence_errors != 0 || lost_holds != 0;
    }
};

demo_totals add_up(const demo_board& board);

/// The table, for standard output.
std::string demo_table(const demo_totals& totals, duration elapsed);
/// One line for a terminal, without its end.
std::string demo_progress(const demo_totals& totals, duration elapsed, duration planned);
/// Why it failed, or that it didn't; one line each.
std::string demo_verdict(const demo_totals& totals, const std::vector<worker_failure>& failures);

}  // namespace conch::cli

#endif
