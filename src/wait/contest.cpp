// SPDX-License-Identifier: BSL-1.0
#include "wait/contest.hpp"

#include "wait/slot.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {
namespace {

/// A hold that ends sooner is short: waiters behind it need not listen.
constexpr duration short_hold = std::chrono::milliseconds{10};

/// How long others get to take the lock when this client has passed it on locally often enough:
/// some of this client's round trips, but no less than this.
constexpr duration shortest_turn = std::chrono::milliseconds{1};

/// However often nobody took it, unless that is less than some round trips.
constexpr duration longest_turn = std::chrono::milliseconds{200};

/// Without messages, a waiter asks more often.
constexpr duration poll_without_messages = std::chrono::milliseconds{100};

}  // namespace

slot& contest::home() const noexcept { return *static_cast<slot*>(listener_.owner); }

void contest::contend_after(duration d) {
    core::environment& env = home().env();
    env.timers.set(timer_, core::after(env.now, d));
}

contest::next_wake contest::turn_of_others(bool overdue) {
    // Twice as long after each turn that nobody took: theirs may be the slower way to the server.
    const duration round_trip = home().link().round_trip();
    const duration theirs = 2 * round_trip + home().env().jitter.jitter(2 * round_trip);
    const duration d = std::max(shortest_turn, theirs) * (1 << turns.unused());
    contend_after(std::max(theirs, std::min(d, longest_turn)));
    // A client that listens already hears its own release, too.
    turns.begin_turn(hears_now());
    if (overdue) {
        return {*this, wake::head};
    }
    return {*this, {wake::deadline, wake::no_others, wake::overdue, wake::nobody}};
}

// The hold may be taken away, and the message of that be lost: so it is looked at now and then.
contest::next_wake contest::end_of_local_hold() {
    contend_after(poll_interval());
    return {*this, {wake::local_release, wake::deadline, wake::head_left, wake::nobody}};
}

contest::next_wake contest::release_by_others() {
    if (wakeup_.pending()) {
        return {*this, wakeup_.first()};
    }
    duration d = home().env().jitter.jitter(poll_interval());
    if (ttl_ms_ >= 0) {
        // A key whose PTTL is 0 is still locked.
        d = std::min<duration>(d, std::chrono::milliseconds{ttl_ms_ + 1});
    }
    contend_after(d);
    return {*this,
            {wake::message, wake::news, wake::head, wake::overdue, wake::deadline, wake::nobody}};
}

duration contest::poll_interval() const noexcept {
    const duration longest = home().all().poll_interval();
    return hears() ? longest
                   : std::max(std::min(longest, poll_without_messages), home().all().poll_pace());
}

void contest::tell(wake what) noexcept {
    if ((awaited_ & bit(what)) != 0) {
        awaited_ = 0;
        came_ = what;
        home().env().awake.wake(contender_);
    }
}

void contest::try_was_busy(protocol::acquire_answer&& answer, bool elsewhere) {
    ttl_ms_ = static_cast<std::int32_t>(
        std::clamp(answer.ttl_ms, std::int64_t{-1}, std::int64_t{1'000'000'000}));
    beside_ = answer.beside.empty()
                  ? nullptr
                  : std::make_unique<std::vector<std::string>>(std::move(answer.beside));
    wakeup_.try_was_busy(elsewhere);
    turns.busy();
    turns.begin_streak();
}

void contest::listen() { home().link().channels().add(listener_, home().channel()); }

bool contest::listen_elsewhere() {
    if (!listener_.to || home().link().channels().has(listener_)) {
        return false;
    }
    wire::subscriptions::leave(listener_);
    listen();
    return true;
}

void contest::stop_listening() noexcept {
    home().env().timers.cancel(timer_);
    wire::subscriptions::leave(listener_);
}

void contest::contend_later() {
    if (!timer_.armed()) {
        contend_after(short_hold);
    }
}

// A caller that locks again as soon as its release is answered would win without end against
// others, which take longer to hear of it.
void contest::begin_grace() noexcept {
    const duration moment = std::max(shortest_turn, 2 * home().link().round_trip());
    turns.begin_grace(core::after(home().env().now, moment));
}

void contest::on_timer(void* self) {
    auto& c = *static_cast<contest*>(self);
    c.tell(wake::deadline);
    c.home().contend_now();
}

}  // namespace conch::lock
