// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_SLOT_HPP
#define CONCH_SRC_LOCK_SLOT_HPP

#include "core/run_queue.hpp"
#include "core/task.hpp"
#include "lock/acquisitions.hpp"
#include "wait/turns.hpp"
#include "wait/wakeup.hpp"
#include "wire/link.hpp"

#include <coroutine>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace conch::lock {

/// One lock name in this client (one more, if some of its mutexes wait for replicas and others do
/// not): its local queue, its holds, its one contender, its subscription.
///
/// At most one try is on its way and wanted. A try is made directly while it may succeed at once;
/// when one was answered "busy", a contend() conversation takes over, until nobody waits.
class slot {
public:
    slot(context& ctx, impl::spec_ptr spec);
    slot(const slot&) = delete;
    slot& operator=(const slot&) = delete;
    ~slot();

    // For callers.

    /// Queues the waiter, or answers it; `wait` is how long it waits for others.
    void acquire(waiter& w, duration wait);
    /// The waiter leaves with this error; what was tried for it goes to the next, or back.
    void give_up(waiter& w, error_code why);
    /// Every waiter leaves.
    void give_up_all(error_code why);
    /// The hold of this owner that one more of it may be nested in.
    acquisition* held_by(std::uint64_t owner, bool shared) noexcept;

    // For the rest of this folder.

    context& ctx;
    impl::spec_ptr spec;

    wire::link& link() const noexcept;
    /// Sends a call to the server that has the lock.
    void submit(wire::call& c);
    /// That of the name, where the servers want to know.
    std::uint16_t hash_slot() const noexcept;
    /// Another server has the lock from now on: listens there, and looks at what it has.
    void regrouped();
    std::string_view name() const noexcept { return spec->name(); }
    /// What this client holds may have been taken away: asks the server.
    void check_holders();
    bool has_waiters() const noexcept { return !waiters_.empty(); }
    /// Whether enough replicas have the acquisition that was tried, and if not, why.
    void confirmed(acquisition& a, errc why);
    /// The live hold's last level was released: the next waiter gets the acquisition as it is, with
    /// no word to the server. False if it may not.
    bool pass_on(acquisition& a);
    /// Whether the next waiter's acquire can be the release of the live hold: for holds that the
    /// server must know apart, in one script, where no others shall hear of it.
    bool can_hand_over(const acquisition& a) noexcept;
    /// Makes that try. The call that would release `a` is its partner until it is answered.
    void hand_over(acquisition& a);
    /// The live hold ended, or is being released: the next waiter's turn.
    void hold_ended(acquisition& a, bool passed_on);
    /// So many clients were told of a release.
    void release_reached(std::int64_t clients);
    /// The acquisition is gone from the server.
    void forget(acquisition& a);
    bool idle() const noexcept;
    template <typename Function>
    void for_each_acquisition(Function f) {
        acquisitions_.for_each(f);
    }

private:
    static constexpr duration listening_delay = std::chrono::milliseconds{10};
    /// How long others get to take the lock when this client has passed it on locally often enough:
    /// some of this client's round trips, but no less than this.
    static constexpr duration shortest_turn = std::chrono::milliseconds{1};

    friend core::task contend(slot& s);
    friend struct waiter;

    /// What only a slot has that contends, or whose waiters wait behind a hold: always there where
    /// they do, and until that hold ends; or that was told of others who wait.
    struct contest {
        explicit contest(slot& s) noexcept
            : listener{&s, &slot::on_news}, timer{&s, &slot::on_deadline} {}

        wire::listener listener;
        wait::wakeup wakeup{};
        wait::turns turns{};
        /// Behind a short hold: when the waiters begin to listen. After a release: until when a new
        /// caller counts as the next of the streak. Else: the deadline of what contend() awaits.
        core::timer timer;
        std::int64_t ttl_ms = 0;  ///< what the last busy answer said
        std::unique_ptr<std::vector<std::string>> beside{};  ///< the same, for the next try

        core::sleeper contender{};
        std::uint16_t awaited = 0;  ///< what it sleeps for: a bit for each `wait::wake`
        wait::wake came{};          ///< and what it was woken by
    };

    /// contend() sleeps until one of these comes, and is told which; or one has come already.
    class next_wake {
    public:
        next_wake(contest& c, std::initializer_list<wait::wake> kinds) noexcept : contest_{c} {
            for (const wait::wake w : kinds) {
                c.awaited |= wait::bit(w);
            }
        }
        next_wake(contest& c, wait::wake came) noexcept : contest_{c} { c.came = came; }
        bool await_ready() const noexcept { return contest_.awaited == 0; }
        void await_suspend(std::coroutine_handle<> h) noexcept {
            contest_.contender.sleep().await_suspend(h);
        }
        wait::wake await_resume() const noexcept { return contest_.came; }

    private:
        contest& contest_;
    };

    static void encode_acquire(wire::call& c, resp::writer& w);
    static protocol::acquire_request request_of(const attempt& t);
    static void acquire_done(wire::call& c, const wire::outcome& o);
    static void on_news(void* self, wire::news what);
    static void on_deadline(void* self);
    static void on_listening_due(void* self);
    static void on_grace_over(void* self);
    static void on_wait_over(void* waiter_);
    static void on_patience_over(void* acquisition_);
    static const wire::call_type acquire_type;
    static const wire::call_type take_over_type;
    static const wire::joint_form joint_acquire;

    void advance();  // lets the next waiter try, if it can
    void try_now(release* leaving = nullptr);
    void tried(acquisition& a, const wire::outcome& o);
    void tried_in_vain(acquisition& a, const wire::outcome& o);
    void granted(acquisition& a);
    /// The waiter has a public hold of it.
    void grant(acquisition& a, waiter& w);
    void busy(protocol::acquire_answer&& answer, bool elsewhere = false);
    void failed(error_code why);
    void abandon(acquisition& a);
    bool fits(const acquisition& a, const waiter& w) const noexcept;
    bool fits_as_it_is(const acquisition& a, const waiter& w) const noexcept;
    time_point patience(const waiter& w) const noexcept;
    time_point patience_with(const acquisition& a) noexcept;
    void nest_others(acquisition& a);
    void ride();
    /// The first waiter waits for a holder of this client.
    bool blocked() const noexcept;
    bool is_busy_for(const waiter& w) const noexcept;
    void end_tries();
    waiter& head() noexcept { return static_cast<waiter&>(waiters_.front()); }
    const waiter& head() const noexcept { return static_cast<const waiter&>(waiters_.front()); }
    /// The waiter has none. `unheard`: refused by what is known here, of a server that is not
    /// connected.
    void leave(waiter& w, error_code why, bool unheard = false);
    void observe(const waiter& w, error_code why, const acquisition* granted_);
    /// Wakes contend(), if that is what it awaits.
    void tell(wait::wake what) noexcept;
    /// The head needs a try of its own, for this reason.
    void try_for_head(wait::wake why);
    void listen_soon();
    bool follows_release() const noexcept;
    void begin_grace() noexcept;
    bool in_grace() const noexcept;
    void pass_or_owe() noexcept;
    bool streak_ends() const noexcept;
    bool others_wait() const noexcept { return contest_ && contest_->turns.others_wait(); }
    bool owes_turn() const noexcept { return contest_ && contest_->turns.owed(); }
    wait::turns::bounds bounds() const noexcept;
    contest& begin_contest();
    void set_timer(core::timer::function fire, time_point at);
    void stop_listening() noexcept;
    void end_contest() noexcept;
    bool hears() const noexcept;

    // For contend().
    void begin_conversation();
    void end_conversation();
    next_wake turn_of_others();
    next_wake end_of_local_hold();
    next_wake answer_to_try();
    next_wake release_by_others();
    void count(wait::wake why) noexcept;
    void heard(wait::wake what);
    duration poll_interval() const noexcept;

    pending_list waiters_{};
    acquisitions acquisitions_{};
    acquisition* trying_ = nullptr;  ///< the try that is on its way for the head

    contest* contest_ = nullptr;
    std::uint32_t rides_ = 0;  ///< of readers that joined the last acquisition
    mutable std::uint16_t hash_slot_ = wire::no_hash_slot;  ///< until somebody wants to know
    bool contending_ : 1 = false;  ///< contend() runs
    bool listed_idle_ : 1 = false;
    friend struct context;
};

/// Gets the lock for the slot's waiters, one after the other, until none is left: subscribes,
/// tries, waits for a release, a poll or a local hand-off, and tries again.
core::task contend(slot& s);

}  // namespace conch::lock

#endif
