// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_CONTEST_HPP
#define CONCH_SRC_WAIT_CONTEST_HPP

#include "core/run_queue.hpp"
#include "core/timer_heap.hpp"
#include "protocol/lock_protocol.hpp"
#include "wait/turns.hpp"
#include "wait/wakeup.hpp"
#include "wire/subscriptions.hpp"

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace conch::lock {

class slot;

/// What a slot has beyond its queue while others may want its lock: it listens to the lock's
/// channel, and wakes contend(). It is there while contend() runs; from when waiters stand behind a
/// hold of this client, until that hold ends; and where a release was told to others who wait.
class contest {
public:
    /// contend() sleeps until one of these comes, and is told which; or one has come already.
    class next_wake {
    public:
        next_wake(contest& c, std::initializer_list<wake> kinds) noexcept : contest_{c} {
            for (const wake w : kinds) {
                c.awaited_ |= bit(w);
            }
        }
        next_wake(contest& c, wake came) noexcept : contest_{c} { c.came_ = came; }
        bool await_ready() const noexcept { return contest_.awaited_ == 0; }
        void await_suspend(std::coroutine_handle<> h) noexcept {
            contest_.contender_.sleep().await_suspend(h);
        }
        wake await_resume() const noexcept { return contest_.came_; }

    private:
        contest& contest_;
    };

    /// `hear`: what the slot does about news of its channel.
    contest(slot& s, wire::listener::function hear) noexcept
        : listener_{&s, hear}, timer_{this, &contest::on_timer} {}

    // What contend() awaits.

    /// `overdue`: the first waiter can't give them one.
    next_wake turn_of_others(bool overdue);
    next_wake end_of_local_hold();
    next_wake answer_to_tries() noexcept { return {*this, {wake::busy, wake::tried}}; }
    next_wake release_by_others();

    /// So many waiters for permits try in one round: after each that was granted, twice as many.
    std::size_t at_once() const noexcept { return std::size_t{1} << doublings_; }
    void round_ended(bool busy) noexcept {
        doublings_ = static_cast<std::uint8_t>(busy ? 0 : std::min(doublings_ + 1, most_doublings));
    }

    /// Wakes contend(), if that is what it awaits.
    void tell(wake what) noexcept;
    /// The same, for a reason to try: it stays until a try has seen it.
    void heard(wake what) {
        wakeup_.add(what);
        tell(what);
    }

    void try_began() noexcept { wakeup_.try_began(); }
    void try_was_busy(protocol::acquire_answer&& answer, bool elsewhere);
    /// What the last busy answer said, for the next try; may be null.
    const std::vector<std::string>* beside() const noexcept { return beside_.get(); }

    void listen();
    /// At the link that the slot has now; false if it is the one that it listens to.
    bool listen_elsewhere();
    void stop_listening() noexcept;
    /// The message that it hears just now.
    std::string_view message() const noexcept { return wire::subscriptions::message(listener_); }
    /// Messages come, or will.
    bool hears() const noexcept { return wire::subscriptions::works(listener_); }
    /// Messages come already.
    bool hears_now() const noexcept { return wire::subscriptions::is_on(listener_); }
    /// Order of the subscription among all writes.
    std::uint64_t serial() const noexcept { return wire::subscriptions::serial(listener_); }

    /// Behind a short hold, contend() doesn't begin yet.
    void contend_later();
    void begin_grace() noexcept;

    lock::turns turns{};

private:
    static constexpr int most_doublings = 10;

    static void on_timer(void* self);

    slot& home() const noexcept;
    void contend_after(duration d);
    duration poll_interval() const noexcept;

    wire::listener listener_;
    wakeup wakeup_{};
    core::timer timer_;  ///< when contend() begins, or goes on, whatever came until then
    std::unique_ptr<std::vector<std::string>> beside_{};

    core::sleeper contender_{};
    std::int32_t ttl_ms_ = 0;    ///< what the last busy answer said: -1 if nothing
    std::uint16_t awaited_ = 0;  ///< what it sleeps for: a bit for each `wake`
    wake came_{};                ///< and what it was woken by
    std::uint8_t doublings_ = 0;
};

}  // namespace conch::lock

#endif
