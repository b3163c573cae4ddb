// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_PENDING_HPP
#define CONCH_SRC_HOLD_PENDING_HPP

#include <conch/error.hpp>

#include <boost/intrusive/list.hpp>

namespace conch::lock {

class completions;

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
    void (*cancel)(completions& done, pending& p, error_code why);
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

}  // namespace conch::lock

#endif
