// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_COUNTER_HPP
#define CONCH_SRC_WAIT_COUNTER_HPP

#include "core/timer_heap.hpp"
#include "hold/pending.hpp"
#include "protocol/count_spec.hpp"
#include "wait/vigil.hpp"
#include "wire/call.hpp"
#include "wire/link.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace conch::lock {

class counter;
class counters;

/// A caller that wants permits, or a latch to open, in the queue of its counter.
struct counter_waiter : pending {
    counter_waiter(caller c, counter& s, std::int64_t n, duration w, bool once) noexcept;
    ~counter_waiter();

    static const pending_kind own_kind;

    bool no_wait() const noexcept { return try_only || wait == duration::zero(); }
    bool leaves_if_refused() const noexcept { return no_wait() || overdue; }

    counter& home;
    std::int64_t permits;
    duration wait;
    bool try_only;         ///< busy is an answer, not an error
    bool in_call = false;  ///< in the call that is on its way
    bool tried = false;    ///< it was refused once
    bool overdue = false;  ///< its wait is over, and was prolonged
    time_point since;
    core::timer deadline;  ///< of its wait
};

/// A semaphore or a latch in this client.
///
/// Of a semaphore at most one call that takes permits is on its way: it asks for as many waiters as
/// there are, first come, first served, and the server grants those that fit until the first that
/// doesn't. Then nobody behind that one has a turn.
///
/// A call whose answer was lost is repeated as it was, and finds by its request key what an earlier
/// copy did. Permits granted to who has given up meanwhile are added again.
///
/// Of a latch the call asks for the count, for all who wait when it is written (wait/latch.cpp).
class counter {
public:
    counter(counters& all, impl::count_spec_ptr spec);
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter();

    void acquire(counter_waiter& w);
    void give_up(counter_waiter& w, error_code why);
    void give_up_all(error_code why);
    /// Permits may have come, or the latch may be open: asks for who waits.
    void changed() { ask(); }
    void regrouped() { vigil_.regrouped(); }
    bool idle() const noexcept;
    /// What is on its way may take permits for nobody.
    bool unsettled() const noexcept { return takes() && queue_.empty() && call_; }

    const wire::link& link() const noexcept;

    counters& all;
    const impl::count_spec_ptr spec;
    std::size_t changes = 0;  ///< on their way

private:
    struct asked_for {
        counter_waiter* waiter;  ///< null once it gave up
        std::int64_t permits;
    };
    /// What it asks the server; there is none while those who wait only listen.
    struct asking : wire::call {
        explicit asking(counter& s) noexcept;
        ~asking();
        void fill_batch();
        bool wanted() const noexcept;

        counter& of;
        // Where it takes permits:
        std::uint64_t number = 0;
        std::vector<asked_for> batch{};
        core::timer old;  ///< it is repeated until then
    };

    static constexpr std::size_t largest_batch = 256;
    static const wire::call_type take_type;
    static const wire::call_type count_type;

    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static void encode_count(wire::call& c, resp::writer& w);
    static void counted(wire::call& c, const wire::outcome& o);
    static void on_news(void* self, wake why);
    static void on_patience_over(void* self);
    static void on_call_old(void* self);
    static void on_wait_over(void* waiter_);
    friend struct counter_waiter;

    /// It has permits, which a call takes; a latch has none.
    bool takes() const noexcept { return spec->what() == impl::count_spec::kind::semaphore; }
    void ask();
    void answered(const asking& c, const resp::value& reply);
    void opened();
    void still_set();
    void refused(counter_waiter& w);
    void refused(const asking& c, std::size_t granted);
    void end_batch(const asking& c, error_code why);
    void end(counter_waiter& w, error_code why, bool granted = false);
    void end_refused(counter_waiter& w);
    void left();
    /// What nobody waits for any more takes nothing.
    bool harmless() const noexcept {
        return call_ && call_->where == wire::call::state::waiting &&
               (!takes() || call_->history.copies == 0);
    }
    /// The call has ended.
    std::unique_ptr<asking> take_call() noexcept;
    counter_waiter& head() noexcept { return static_cast<counter_waiter&>(queue_.front()); }

    pending_list queue_{};
    std::unique_ptr<asking> call_{};
    vigil vigil_;
    core::timer patience_;
    time_point asking_since_{};  ///< without an answer
    friend class counters;
    bool listed_idle_ = false;
};

}  // namespace conch::lock

#endif
