// SPDX-License-Identifier: BSL-1.0
#include "hold/acquisition.hpp"

#include "core/check.hpp"
#include "core/time.hpp"
#include "hold/holds.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {

duration clamped_lease(duration lease, duration left) noexcept {
    return std::min(lease, std::max(left, core::shortest_lease));
}

duration due_lease(const acquisition& a, time_point now) noexcept {
    return a.shows_no_progress(now) ? duration{} : a.terms.lease;
}

duration lease_to_send(const acquisition& a, duration lease, time_point now) noexcept {
    return std::max(clamped_lease(lease, a.ends - now), core::lease_for(a.valid_until - now));
}

std::optional<lost_copies> attempt::lost() const noexcept {
    if (!history.in_doubt()) {
        return std::nullopt;
    }
    // In line, one that runs just in time has its place for as long again, and is then given the
    // lock, if its channel still seems to have a listener.
    const bool in_line = protocol::has_places(*of.spec);
    const duration late = in_line ? 2 * waits_for + lease : lease;
    return lost_copies{.first_sent = history.first_sent,
                       .last_lost = history.lost_at,
                       .until = core::after(history.lost_at, late)};
}

duration attempt::lasts() const noexcept {
    const bool in_line = protocol::has_places(*of.spec);
    return in_line ? lease + waits_for : lease;
}

bool attempt::gets_place() const noexcept {
    return protocol::has_places(*of.spec) && waits_for > duration::zero();
}

acquisition::acquisition(lock_name& n, impl::spec_ptr s, std::uint64_t no, const hold_terms& t)
    : home{n}, spec{std::move(s)}, number{no}, terms{t}, timer{this, nullptr} {}

void acquisition::was_seen() noexcept {
    moves = home.link().moves();
    server_moved = false;
}

bool acquisition::failed_over() const noexcept {
    return !server_moved && moves != home.link().moves();
}

void acquisition::expect_progress(duration within) {
    CONCH_CHECK(levels.empty());
    progress.reset(within != duration::zero() ? new progress_record{within} : nullptr);
}

time_point acquisition::last_report() const noexcept {
    time_point latest{};
    if (progress) {
        latest = progress->last;
        for (const level& l : levels) {
            latest = std::max(latest, static_cast<const reporting_level&>(l).reported.get());
        }
    }
    return latest;
}

bool acquisition::shows_no_progress(time_point by) const noexcept {
    return progress && by - last_report() > progress->within;
}

void acquisition::ask_next_time() noexcept {
    if (progress) {
        progress->asks_at = {};
    }
}

protocol::field field_of(const acquisition& a) noexcept {
    return {.text = a.home.client.field_prefix,
            .number = a.number,
            .suffix = a.spec->protocol().field_suffix};
}

}  // namespace conch::lock
