// SPDX-License-Identifier: BSL-1.0
#include "cli/demo_report.hpp"

#include "cli/text.hpp"

#include <cstdio>
#include <memory>
#include <string_view>

namespace conch::cli {
namespace {

std::string rate(std::uint64_t count, duration elapsed) {
    const double seconds = std::chrono::duration<double>{elapsed}.count();
    return grouped(seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(count) / seconds)
                               : 0);
}

std::string row(std::string_view name, const std::string& value, const std::string& note = {}) {
    char text[200];
    std::snprintf(text, sizeof text, "  %-22.*s%12s", static_cast<int>(name.size()), name.data(),
                  value.c_str());
    return text + (note.empty() ? "" : "   " + note) + '\n';
}

/// Signed: a worker killed between its two writes leaves the counter one ahead.
std::string lost_updates(const demo_totals& t) {
    return t.counter > t.increments ? '-' + grouped(t.counter - t.increments)
                                    : grouped(t.increments - t.counter);
}

}  // namespace

demo_totals add_up(const demo_board& board) {
    demo_totals t;
    t.counter = board.counter.load();
    const auto waits = std::make_unique<wait_histogram>();
    for (std::uint32_t i = 0; i < board.processes; ++i) {
        const worker_record& w = board.workers[i];
        t.acquisitions += w.acquisitions.load();
        t.increments += w.increments.load();
        t.overlaps += w.overlaps.load();
        t.fence_errors += w.fence_errors.load();
        t.lost_holds += w.lost_holds.load();
        t.local_hand_offs += w.local_hand_offs.load();
        t.remote_hand_offs += w.remote_hand_offs.load();
        waits->add(w.waits);
    }
    t.wait_p50 = waits->quantile(0.50);
    t.wait_p99 = waits->quantile(0.99);
    return t;
}

std::string demo_table(const demo_totals& t, duration elapsed) {
    const bool any = t.acquisitions != 0;
    return row("acquisitions", grouped(t.acquisitions),
               rate(t.acquisitions, elapsed) + " per second") +
           row("lost updates", lost_updates(t),
               "the counter says " + grouped(t.counter) + " after " + grouped(t.increments) +
                   " increments") +
           row("overlaps", grouped(t.overlaps), "two inside at the same time") +
           row("fence errors", grouped(t.fence_errors), "a token not above the one before") +
           row("lost holds", grouped(t.lost_holds), "a lease that ended inside") +
           row("wait p50", any ? short_time(t.wait_p50) : "-") +
           row("wait p99", any ? short_time(t.wait_p99) : "-") +
           row("hand-offs per second", rate(t.local_hand_offs + t.remote_hand_offs, elapsed),
               rate(t.local_hand_offs, elapsed) + " within a process, " +
                   rate(t.remote_hand_offs, elapsed) + " between processes");
}

std::string demo_progress(const demo_totals& t, duration elapsed, duration planned) {
    char time[64];
    std::snprintf(time, sizeof time,
                  "%.1f of %g s: ", std::chrono::duration<double>{elapsed}.count(),
                  std::chrono::duration<double>{planned}.count());
    return time + grouped(t.acquisitions) + " acquisitions, " + rate(t.acquisitions, elapsed) +
           " per second, " + grouped(t.overlaps) + " overlaps, " + grouped(t.fence_errors) +
           " fence errors";
}

std::string demo_verdict(const demo_totals& t, const std::vector<worker_failure>& failures) {
    std::string out;
    for (const worker_failure& f : failures) {
        out += "process " + std::to_string(f.index + 1) + ": " + f.text + '\n';
    }
    if (t.broken()) {
        const bool told = t.counter == t.increments && t.overlaps == 0 && t.fence_errors == 0;
        return out + (told ? "FAILED: holds were lost, though no update was.\n"
                           : "FAILED: the lock did not protect the counter.\n");
    }
    if (!failures.empty()) {
        return out + "FAILED: not every process came to its end.\n";
    }
    if (t.acquisitions == 0) {
        return out + "FAILED: the lock was never acquired, so nothing was shown.\n";
    }
    return out + "passed: no update was lost.\n";
}

}  // namespace conch::cli
