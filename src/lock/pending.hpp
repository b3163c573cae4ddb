// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_LOCK_PENDING_HPP
#define CONCH_SRC_LOCK_PENDING_HPP

#include "core/timer_heap.hpp"
#include "protocol/lock_protocol.hpp"
#include "wire/call.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>

namespace conch::lock {

class slot;
struct acquisition;
struct context;
struct level;

using pending_hook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct by_caller>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

struct pending;

/// Who asked: what they know their operation by, and where they keep what the engine knows it by.
struct caller {
    void* tag = nullptr;
    pending** running = nullptr;
};

/// What operations of one kind have in common.
struct pending_kind {
    /// Its caller cancels it: completes with `why`. What runs for it comes to its end.
    void (*cancel)(context& ctx, pending& p, error_code why);
};

/// One operation of a caller, from its arrival until its completion is queued.
struct pending : pending_hook {
    pending(const pending_kind& k, caller c) noexcept : what{k} { serve(c); }
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;

    /// From now on this is what the caller waits for.
    void serve(caller c) noexcept {
        from = c;
        if (from.running) {
            *from.running = this;
        }
    }
    bool completed() const noexcept { return from.tag == nullptr; }

    caller from{};
    const pending_kind& what;
};

using pending_list = boost::intrusive::list<pending, boost::intrusive::base_hook<pending_hook>,
                                            boost::intrusive::constant_time_size<false>>;

template <typename T>
bool is(const pending& p) noexcept {
    return &p.what == &T::own_kind;
}

/// Those of this kind; each may leave the list when its turn comes.
template <typename T, typename Function>
void for_each_of(pending_list& all, Function f) {
    for (auto it = all.begin(); it != all.end();) {
        pending& p = *it++;
        if (is<T>(p)) {
            f(static_cast<T&>(p));
        }
    }
}

/// What a hold shall be like; checked, with all times finite and in range.
struct hold_terms {
    static constexpr std::uint64_t largest_owner = ~std::uint64_t{0} >> 1;

    duration lease{};
    std::uint64_t owner : 63 = 0;  ///< 0: none
    std::uint64_t renew : 1 = 1;

    friend bool operator==(const hold_terms&, const hold_terms&) = default;
};

/// What an acquire asks for.
struct request_terms : hold_terms {
    duration max_hold{};
    duration wait{};
    bool try_only = false;  ///< busy and timed out are answers, not errors
};

/// A wait that is over is prolonged by so much for an answer that is on its way.
inline constexpr duration answer_grace = std::chrono::milliseconds{100};

/// A caller that wants the lock, in its slot's queue.
struct waiter : pending {
    waiter(caller c, slot& home, impl::spec_ptr spec, const request_terms& terms, time_point now);

    static const pending_kind own_kind;

    bool shared() const noexcept { return protocol::is_shared(*spec); }

    const bool try_only;   ///< as `terms`
    const bool no_wait;    ///< it doesn't wait for others
    bool tried = false;    ///< a try made for it was answered
    bool queued = false;   ///< behind others of this client
    bool overdue = false;  ///< its wait is over, and was prolonged
    slot& home;
    impl::spec_ptr spec;
    hold_terms terms;
    duration max_hold;
    time_point since;
    core::timer deadline;  ///< of its wait
};

/// Waits for the answer to a release.
struct unlock : pending {
    explicit unlock(caller c) noexcept : pending{own_kind, c} {}

    static const pending_kind own_kind;
};

/// Wants to know when a hold ends, or that it is going to.
struct watcher : pending {
    watcher(caller c, context& h, level* l, duration before) noexcept;
    ~watcher();

    static const pending_kind own_kind;

    context& ctx;
    level* of;        ///< none where nothing is held any more
    duration before;  ///< so long before the deadline
    core::timer soon;
};

/// Wants a longer lease.
struct extension : pending {
    extension(caller c, context& h, acquisition* a, duration l) noexcept;
    ~extension();

    static const pending_kind own_kind;

    context& ctx;
    acquisition* of;  ///< none where there is nothing to extend
    duration lease;
    time_point since;
    errc refused{};  ///< by the server, for now
    core::timer patience;
};

/// Goes one level deeper, or comes back from one.
struct level_change : pending, wire::call {
    level_change(caller c, acquisition& a, bool deeper) noexcept;

    static const pending_kind own_kind;

    context& ctx;
    acquisition* of;   ///< null once that ended
    duration lease{};  ///< as it was sent
    bool enters;
    core::timer patience;
};

}  // namespace conch::lock

#endif
