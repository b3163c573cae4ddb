// SPDX-License-Identifier: BSL-1.0
#include "wait/slot_state.hpp"

#include "wait/slots.hpp"

#include <utility>

namespace conch::lock {

slot_state::slot_state(slots& a, impl::spec_ptr s) noexcept : lock_name{a, std::move(s)} {}

slot_state::~slot_state() {
    if (contest_) {
        end_contest();
    }
}

bool slot_state::blocked() const noexcept {
    return has_waiters() && !acquisitions_.admit(queue_.head().shared());
}

// Who comes before a caller that does not wait. A reader may share the answer to a try of readers.
// A try for permits queues behind other tries; where somebody waits, it is refused at once.
bool slot_state::is_busy_for(const waiter& w) const noexcept {
    if (protocol::takes_permits(*spec)) {
        return contending_ && has_waiters();
    }
    if (!acquisitions_.admit(w.shared())) {
        return true;
    }
    if (!w.shared()) {
        return has_waiters();
    }
    return contending_ || !queue_.all_share();
}

// Waiters with a try stand in front, in the order of their tries. A waiter for permits tries behind
// the one in front of it, without waiting for that one's answer. Of any other lock the first waiter
// tries, for itself or for all readers.
waiter* slot_state::next_to_try() noexcept {
    if (!last_tried_) {
        return has_waiters() ? &queue_.head() : nullptr;
    }
    return protocol::takes_permits(*spec) && !one_at_a_time_ ? queue_.after(*last_tried_) : nullptr;
}

void slot_state::make_for(waiter& w, acquisition& a) noexcept {
    w.trying = &a;
    a.acquiring->wanted_by = &w;
    last_tried_ = &w;
}

acquisition& slot_state::take_try(waiter& w) noexcept {
    if (last_tried_ == &w) {
        last_tried_ = queue_.before(w);
    }
    w.trying->acquiring->wanted_by = nullptr;
    return *std::exchange(w.trying, nullptr);
}

void slot_state::end_contest() noexcept {
    contest_->stop_listening();
    all().contests.free(*std::exchange(contest_, nullptr));
}

void slot_state::tell(wake what) noexcept {
    if (contest_) {
        contest_->tell(what);
    }
}

void slot_state::heard(wake what) {
    if (contest_) {
        contest_->heard(what);
    }
}

// The next try of this client leaves with the release, behind it, or right after its answer:
// waiters in other processes hear of the release too late.
bool slot_state::follows_release() const noexcept {
    const bool others_are_passed_over = others_wait() && !owes_turn();
    const bool is_next_try = !acquisitions_.held() && !trying();
    const bool is_releasing = !acquisitions_.empty();  // or, at worst, may be
    return others_are_passed_over && is_next_try && (is_releasing || in_grace());
}

bool slot_state::in_grace() const noexcept {
    return contest_ && contest_->turns.in_grace(env().now) && !env().closing;
}

bool slot_state::streak_ends() const noexcept {
    return contest_->turns.streak_ends(env().now, bounds_of_streak());
}

turns::bounds slot_state::bounds_of_streak() const noexcept {
    return {.passes = env().settings.max_passes, .time = env().settings.max_pass_time};
}

// Whoever has a place at the server listens before it tries: else it would have to try again once
// it listens.
bool slot_state::expects_to_wait() const noexcept {
    return protocol::has_places(*spec) && all().wanted.has(name(), env().now);
}

}  // namespace conch::lock
