// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_TURNS_HPP
#define CONCH_SRC_WAIT_TURNS_HPP

#include <conch/clock.hpp>

#include <cstdint>

namespace conch::lock {

/// Whose turn a lock is, that waiters of this client and of other clients want. A *streak* is a row
/// of holds of this client. When it is long enough, the others get a *turn*: this client waits for
/// a moment before its next try. A value, which is told what happens.
class turns {
public:
    struct bounds {
        std::uint32_t passes;  ///< of a streak
        duration time;
    };

    /// Whether the last release was told to others too.
    void others_wait(bool wait) noexcept { others_ = wait; }
    bool others_wait() const noexcept { return others_; }

    /// `since`: when it began; by default with the next grant.
    void begin_streak(time_point since = {}) noexcept {
        passes_ = 0;
        since_ = since;
    }
    bool streak_ends(time_point now, const bounds& b) const noexcept {
        return passes_ + 1 >= b.passes || (since_ != time_point{} && now - since_ >= b.time);
    }
    void passed() noexcept { ++passes_; }
    /// This client released the lock, and has a waiter for it. False: the others' turn is owed.
    bool pass(time_point now, const bounds& b) noexcept {
        if (others_ && streak_ends(now, b)) {
            owe();
            return false;
        }
        if (state_ == state::owed) {
            state_ = state::ours;
        }
        passed();
        return true;
    }
    void granted(time_point now) noexcept {
        if (since_ == time_point{}) {
            since_ = now;
        }
        if (state_ == state::unused) {
            state_ = state::ours;
            if (others_ && unused_ < most_unused) {
                ++unused_;
            }
        }
    }
    /// The lock was found in the hands of others.
    void busy() noexcept {
        if (state_ == state::unused) {
            state_ = state::ours;
        }
        unused_ = 0;
    }

    /// Others have a turn before this client's next try.
    void owe() noexcept {
        state_ = state::owed;
        begin_streak();
    }
    bool owed() const noexcept { return state_ == state::owed; }
    /// `hears_own`: the release that begins it is heard here, too.
    void begin_turn(bool hears_own) noexcept {
        heard_ = 0;
        own_ = hears_own;
    }
    /// Of a release.
    void heard_message() noexcept {
        if (heard_ < most_heard) {
            ++heard_;
        }
    }
    /// A client that took the lock and released it in this turn was heard. One that still has it is
    /// found by the try that follows.
    void end_turn() noexcept {
        if (heard_ > (own_ ? 1 : 0)) {
            state_ = state::ours;
            unused_ = 0;
        } else {
            state_ = state::unused;
        }
    }
    /// After a release: until then, a new caller counts as the next of the streak.
    void begin_grace(time_point until) noexcept { grace_ends_ = until; }
    void end_grace() noexcept { grace_ends_ = {}; }
    bool in_grace(time_point now) const noexcept { return now < grace_ends_; }
    time_point grace_ends() const noexcept { return grace_ends_; }

    /// Turns in a row that nobody took: the others may be slower to hear of a release.
    unsigned unused() const noexcept { return unused_; }

private:
    static constexpr unsigned most_unused = 7;
    static constexpr unsigned most_heard = 2;  // more of them tell no more

    enum class state : std::uint8_t { ours, owed, unused };

    time_point since_{};  ///< the first grant of this streak; the epoch: none
    time_point grace_ends_{};
    std::uint32_t passes_ = 0;
    std::uint8_t heard_ = 0;  ///< messages in this turn
    std::uint8_t unused_ = 0;
    state state_ = state::ours;
    bool own_ : 1 = false;  ///< one of these messages is that of our own release
    bool others_ : 1 = false;
};

}  // namespace conch::lock

#endif
