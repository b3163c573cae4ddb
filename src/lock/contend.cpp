// SPDX-License-Identifier: BSL-1.0
#include "lock/context.hpp"
#include "lock/slot.hpp"

#include <algorithm>

namespace conch::lock {
namespace {

/// However often nobody took it, unless that is less than some round trips.
constexpr duration longest_turn = std::chrono::milliseconds{200};

/// Without messages, a waiter asks more often.
constexpr duration poll_without_messages = std::chrono::milliseconds{100};

/// The waiters of a client together poll less than 5,000 times a second: each asks by itself, and
/// nearly always in vain.
constexpr duration between_polls = std::chrono::microseconds{300};

}  // namespace

core::task contend(slot& s) {
    s.contending_ = true;
    // Leaves in one write with the try that follows, so that no release is missed between them.
    s.link().channels().add(s.begin_contest().listener, s.spec->channel().text());
    const auto woken = s.event();  // one for all: each of its own would have room in the frame
    if (!s.live_) {
        ++s.ctx.counters.wakes_by_subscribe;
    } else if (wire::subscriptions::is_on(s.contest_->listener)) {
        // Another name shares the channel: no confirmation will bring this about.
        s.ctx.renewing.check(*s.live_);
    }
    while (s.has_waiters()) {
        if (s.owes_turn_) {
            s.expect_turn();
            while (s.has_waiters() && !s.poll_due_ && !s.head().overdue) {
                co_await woken;
            }
            s.end_turn();
        }
        while (s.has_waiters() && s.live_) {
            s.expect_news();
            while (s.has_waiters() && s.live_ && !s.poll_due_) {
                co_await woken;
            }
            if (s.has_waiters() && s.live_) {
                s.ctx.renewing.check(*s.live_);
            }
        }
        if (!s.has_waiters()) {
            break;
        }
        if (s.owes_turn_) {
            continue;
        }
        if (!s.trying_) {  // else the last holder's release is a try
            s.try_now();
        }
        while (s.trying_) {
            co_await woken;
        }
        if (s.last_busy_) {
            s.expect_release();
            while (s.has_waiters() && !s.may_be_free()) {
                co_await woken;
            }
        }
    }
    s.stop_listening();
    s.contending_ = false;
    if (!s.live_ && !s.others_wait_) {
        s.end_contest();
    }
    s.ctx.may_be_idle(s);
}

void slot::expect_turn() {
    // Twice as long after each turn that nobody took: theirs may be the slower way to the server.
    const duration round_trip = link().round_trip();
    const duration theirs = 2 * round_trip + ctx.jitter.jitter(2 * round_trip);
    const duration d = std::max(shortest_turn, theirs) * (1 << unused_turns_);
    poll_due_ = false;
    ctx.timers.set(contest_->poll,
                   core::after(ctx.now, std::max(theirs, std::min(d, longest_turn))));
    // The release that leaves now is heard too, by who listens already.
    contest_->own_until =
        contest_->messages + (wire::subscriptions::is_on(contest_->listener) ? 1 : 0);
}

// Whoever took the lock and released it since was heard; whoever holds it still, answers the try.
void slot::end_turn() noexcept {
    if (!has_waiters()) {
        return;  // cut short: it is still owed
    }
    owes_turn_ = false;
    turn_was_unused_ = static_cast<std::int32_t>(contest_->messages - contest_->own_until) <= 0;
    if (!turn_was_unused_) {
        unused_turns_ = 0;
    }
}

// A local hold may be taken away too, and its message be lost.
void slot::expect_news() {
    poll_due_ = false;
    ctx.timers.set(contest_->poll, core::after(ctx.now, poll_interval()));
}

void slot::expect_release() {
    duration d = ctx.jitter.jitter(poll_interval());
    if (contest_->ttl_ms >= 0) {
        // A key whose PTTL is 0 is still locked.
        const auto left =
            std::chrono::milliseconds{std::min<std::int64_t>(contest_->ttl_ms, 1'000'000'000)};
        d = std::min<duration>(d, left + std::chrono::milliseconds{1});
    }
    poll_due_ = false;
    ctx.timers.set(contest_->poll, core::after(ctx.now, d));
}

duration slot::poll_interval() const noexcept {
    const duration cap = ctx.settings.max_poll_interval;
    const auto names = static_cast<duration::rep>(ctx.contests.live());
    return std::max(hears() ? cap : std::min(cap, poll_without_messages), names * between_polls);
}

bool slot::may_be_free() noexcept {
    if (contest_->wakes != contest_->seen) {
        ++(by_message_ ? ctx.counters.wakes_by_message : ctx.counters.wakes_by_subscribe);
        return true;
    }
    if (untried_head_) {
        return true;
    }
    if (poll_due_) {
        ++ctx.counters.wakes_by_poll;
        return true;
    }
    return live_ != nullptr;
}

void slot::on_poll(void* self) {
    slot& s = *static_cast<slot*>(self);
    if (s.contending_) {
        s.poll_due_ = true;
        s.wake();
    } else if (s.live_ && s.has_waiters()) {
        contend(s);
    } else {
        s.ctx.may_be_idle(s);
    }
}

// A message may have been missed meanwhile.
void slot::regrouped() {
    if (live_) {
        ctx.renewing.check_elsewhere(*live_);
    } else if (trying_) {
        trying_->server_moved = true;
    }
    if (!contest_ || !contest_->listener.to || link().channels().has(contest_->listener)) {
        return;
    }
    wire::subscriptions::leave(contest_->listener);
    link().channels().add(contest_->listener, spec->channel().text());
    ++contest_->wakes;
    by_message_ = false;
    wake();
}

void slot::on_news(void* self, wire::news what) {
    slot& s = *static_cast<slot*>(self);
    switch (what) {
        case wire::news::message:
            if (s.live_) {
                s.ctx.renewing.check(*s.live_);
            }
            ++s.contest_->messages;
            s.by_message_ = true;
            break;
        case wire::news::subscribed: {
            if (s.live_) {  // it may have been taken away before anybody here listened
                s.ctx.renewing.check(*s.live_);
            }
            // A try that leaves, or left, after the subscription sees what came before it.
            const auto subscribed = wire::subscriptions::serial(s.contest_->listener);
            if (s.trying_ && (s.trying_->acquiring->where == wire::call::state::waiting ||
                              s.trying_->acquiring->serial > subscribed)) {
                return;
            }
            s.by_message_ = false;
            break;
        }
        case wire::news::ended:
            if (s.live_) {  // whoever serves it now may know of another holder
                s.ctx.renewing.check(*s.live_);
            }
            s.by_message_ = false;  // nobody has told of a release
            break;
        case wire::news::failed:
            s.ctx.tell("no release messages, polling", s.name());
            s.poll_due_ = s.poll_due_ || s.live_;
            s.by_message_ = false;  // asks now, and more often from now on
            break;
    }
    ++s.contest_->wakes;
    s.wake();
}

}  // namespace conch::lock
