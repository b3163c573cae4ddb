// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_PENDING_HPP
#define CONCH_SRC_HOLD_PENDING_HPP

#include "core/hold_view.hpp"

#include <conch/error.hpp>
#include <conch/impl/remark.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <utility>
#include <vector>

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

/// The end of one caller's operation, for the driver to deliver.
struct completion {
    void* tag = nullptr;
    error_code ec{};
    impl::view_ptr view{};
    impl::remark said = impl::remark::none;
};

/// Where callers' operations end, each exactly once.
class completions {
public:
    /// One more is to be completed.
    void admit() noexcept { ++unanswered_; }
    /// Queues the completion of `p`; no-op if it was completed before.
    void complete(pending& p, error_code ec, impl::view_ptr&& view = {}, impl::remark said = {}) {
        answer(std::exchange(p.from, {}), ec, std::move(view), said);
    }
    /// The same at once, for a caller whose operation needs no object; no-op if there is none.
    void answer(caller from, error_code ec, impl::view_ptr&& view = {}, impl::remark said = {});
    /// Queues the completion of one that was not admitted.
    void refuse(caller from, errc why) { queued_.push_back({from.tag, why, {}, {}}); }

    /// What the observer knows of who waits for `p`; null: nothing.
    const void* context_of(const pending& p) const noexcept {
        return context_of_ && !p.completed() ? context_of_(p.from.tag) : nullptr;
    }
    void set_caller_context(const void* (*of)(const void* tag)) noexcept { context_of_ = of; }

    /// How many were admitted and not completed.
    std::size_t unanswered() const noexcept { return unanswered_; }
    /// For the driver to take.
    std::vector<completion>& queued() noexcept { return queued_; }

private:
    std::vector<completion> queued_{};
    std::size_t unanswered_ = 0;
    const void* (*context_of_)(const void* tag) = nullptr;
};

}  // namespace conch::lock

#endif
