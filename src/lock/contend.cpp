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
    wait::wake came{};  // a variable for each would make the frame a fifth larger
    s.begin_conversation();
    while (s.has_waiters()) {
        if (s.owes_turn()) {
            co_await s.turn_of_others();
            if (s.has_waiters()) {  // else it is still owed
                s.contest_->turns.end_turn();
            }
        } else if (s.blocked()) {
            came = co_await s.end_of_local_hold();
            if (came == wait::wake::deadline) {
                s.check_holders();
            }
        } else {
            if (!s.trying_) {  // else hand_over() has made one
                s.try_now();
            }
            came = co_await s.answer_to_try();
            if (came == wait::wake::busy && s.has_waiters()) {
                s.count(co_await s.release_by_others());
            }
        }
    }
    s.end_conversation();
}

void slot::begin_conversation() {
    contending_ = true;
    // A try that follows at once leaves in the same write, so that no release is missed between
    // them. Else on_news() calls for one.
    link().channels().add(begin_contest().listener, spec->channel().text());
    if (!acquisitions_.held()) {
        ++ctx.telemetry.counters.wakes_by_subscribe;
    } else if (wire::subscriptions::is_on(contest_->listener)) {
        // Another name shares the channel: no confirmation will bring this about.
        check_holders();
    }
}

void slot::end_conversation() {
    stop_listening();
    contending_ = false;
    if (!acquisitions_.held() && !others_wait()) {
        end_contest();
    }
    ctx.may_be_idle(*this);
}

slot::next_wake slot::turn_of_others() {
    // Twice as long after each turn that nobody took: theirs may be the slower way to the server.
    const duration round_trip = link().round_trip();
    const duration theirs = 2 * round_trip + ctx.jitter.jitter(2 * round_trip);
    const duration d = std::max(shortest_turn, theirs) * (1 << contest_->turns.unused());
    set_timer(&slot::on_deadline,
              core::after(ctx.now, std::max(theirs, std::min(d, longest_turn))));
    // The release that leaves now is heard too, by who listens already.
    contest_->turns.begin_turn(wire::subscriptions::is_on(contest_->listener));
    if (head().overdue) {
        return {*contest_, wait::wake::head};
    }
    return {*contest_,
            {wait::wake::deadline, wait::wake::no_others, wait::wake::overdue, wait::wake::nobody}};
}

// The hold may be taken away, and the message of that be lost: so it is looked at now and then.
slot::next_wake slot::end_of_local_hold() {
    set_timer(&slot::on_deadline, core::after(ctx.now, poll_interval()));
    return {*contest_,
            {wait::wake::local_release, wait::wake::deadline, wait::wake::head_left,
             wait::wake::nobody}};
}

slot::next_wake slot::answer_to_try() { return {*contest_, {wait::wake::busy, wait::wake::tried}}; }

slot::next_wake slot::release_by_others() {
    if (contest_->wakeup.pending()) {
        return {*contest_, contest_->wakeup.first()};
    }
    duration d = ctx.jitter.jitter(poll_interval());
    if (contest_->ttl_ms >= 0) {
        // A key whose PTTL is 0 is still locked.
        const auto left =
            std::chrono::milliseconds{std::min<std::int64_t>(contest_->ttl_ms, 1'000'000'000)};
        d = std::min<duration>(d, left + std::chrono::milliseconds{1});
    }
    set_timer(&slot::on_deadline, core::after(ctx.now, d));
    return {*contest_,
            {wait::wake::message, wait::wake::news, wait::wake::head, wait::wake::overdue,
             wait::wake::deadline, wait::wake::nobody}};
}

void slot::count(wait::wake why) noexcept {
    stats& c = ctx.telemetry.counters;
    c.wakes_by_message += why == wait::wake::message ? 1 : 0;
    c.wakes_by_subscribe += why == wait::wake::news ? 1 : 0;
    c.wakes_by_poll += why == wait::wake::deadline ? 1 : 0;
}

duration slot::poll_interval() const noexcept {
    const duration cap = ctx.settings.max_poll_interval;
    const auto names = static_cast<duration::rep>(ctx.contests.live());
    return std::max(hears() ? cap : std::min(cap, poll_without_messages), names * between_polls);
}

void slot::on_deadline(void* self) { static_cast<slot*>(self)->tell(wait::wake::deadline); }

// A message may have been missed meanwhile.
void slot::regrouped() {
    acquisitions_.for_each_holder([&](acquisition& a) { ctx.renewing.check_elsewhere(a); });
    if (trying_) {
        trying_->server_moved = true;
    }
    if (!contest_ || !contest_->listener.to || link().channels().has(contest_->listener)) {
        return;
    }
    wire::subscriptions::leave(contest_->listener);
    link().channels().add(contest_->listener, spec->channel().text());
    heard(wait::wake::news);
}

// It stays until a try has seen it, and is told to contend() if that awaits it.
void slot::heard(wait::wake what) {
    contest_->wakeup.add(what);
    tell(what);
}

void slot::on_news(void* self, wire::news what) {
    slot& s = *static_cast<slot*>(self);
    if (what != wire::news::failed) {  // what is held may have been taken away
        s.check_holders();
    }
    switch (what) {
        case wire::news::message:
            s.contest_->turns.heard_message();
            s.heard(wait::wake::message);
            return;
        case wire::news::subscribed: {
            // A try that leaves, or left, after the subscription sees what came before it.
            const auto subscribed = wire::subscriptions::serial(s.contest_->listener);
            if (!s.trying_ || (s.trying_->acquiring->where != wire::call::state::waiting &&
                               s.trying_->acquiring->serial <= subscribed)) {
                s.heard(wait::wake::news);
            }
            return;
        }
        case wire::news::ended:  // whoever serves the channel now may know of another holder
            s.heard(wait::wake::news);
            return;
        case wire::news::failed:
            s.ctx.telemetry.warn("no release messages, polling", s.name());
            s.heard(wait::wake::news);
            if (s.acquisitions_.held()) {  // asks now, and more often from now on
                s.tell(wait::wake::deadline);
            }
            return;
    }
}

}  // namespace conch::lock
