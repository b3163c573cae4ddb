// SPDX-License-Identifier: BSL-1.0
// A link that goes from one server to the one that took its place.
#include "wire/link.hpp"
#include "wire/server_error.hpp"

#include <algorithm>

namespace conch::wire {

// The last thing that is done: the answer may come at once.
void link::ask_for_address(bool was_ready) {
    if (events_.needs_address) {
        events_.needs_address(events_.owner, was_ready);
    }
}

void link::move_to(const address& to) {
    move_later(to);
    if (state_ == state::pausing || state_ == state::no_address) {
        timers_.cancel(timer_);
        connect();
    }
}

void link::move_later(const address& to) {
    if (to == target_) {
        return;
    }
    if (wanted_ != 0) {
        const bool was_ready = ready();
        log_(log_level::info, "leaving ", target_.text(), " for ", to.text());
        let_go(false);
        timers_.cancel(timer_);
        forget_failures();
        target_ = to;
        if (was_ready) {
            events_.lost(events_.owner, errc{});
        }
        connect();
    }
    target_ = to;
}

// Where a master is wanted, a replica answers that it may not write: what was asked is asked again
// of the one that took its place.
bool link::demoted(std::string_view words) {
    const bool of_replica = to_errc(words) == errc::read_only || words.starts_with("MASTERDOWN");
    if (expected_ != role::master || !of_replica) {
        return false;
    }
    if (ready()) {
        down("the server became a replica");
    }
    return true;
}

void link::took(duration d) noexcept {
    constexpr duration longest = std::chrono::seconds{1};
    const bool known = round_trip_ > duration::zero();
    round_trip_ = std::min({d, longest, known ? 2 * round_trip_ : longest});
}

bool link::part_refused(std::string_view words) {
    remember_words(words);
    return demoted(words);
}

}  // namespace conch::wire
