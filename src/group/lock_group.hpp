// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_LOCK_GROUP_HPP
#define CONCH_SRC_GROUP_LOCK_GROUP_HPP

#include "group/context.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace conch::group {

/// One lock that is made of others, held where enough of them are: requests, time and the members'
/// answers go in; completions, questions to the members and the next deadline come out.
/// Deterministic: no clock, no thread, no random device.
///
/// Each turn: `begin_turn(now)`, any number of inputs, `end_turn()`; then take the completions, and
/// come back by `next_deadline()`.
class lock_group {
public:
    /// `all`: so many members, at most `most_members`, which live as long as this. `settings`: of
    /// the first.
    lock_group(members& all, std::size_t size, const config& settings, const terms& how,
               std::uint64_t seed);
    lock_group(const lock_group&) = delete;
    lock_group& operator=(const lock_group&) = delete;
    ~lock_group();

    /// `now` never goes back.
    void begin_turn(time_point now) noexcept { ctx_.now = now; }
    /// Fires what is due: the turn's inputs come first.
    void end_turn();

    // Requests. Each `tag` is completed exactly once, in the completions of this turn or a later
    // one.

    /// `owner`: that of the options, which is refused.
    void acquire(const lock_options& options, bool try_only, void* tag, std::uint64_t owner = 0);
    void unlock(const impl::view_ptr& hold, void* tag);
    void leave(const impl::view_ptr& hold, duration lease, void* tag);
    void extend(const impl::view_ptr& hold, duration lease, void* tag);
    /// Of several locks, none is.
    void downgrade(const impl::view_ptr& hold, void* tag);
    void wait_lost(const impl::view_ptr& hold, duration before, void* tag);
    void status(const status_options& options, void* tag, lock_status* result);
    void force_unlock(void* tag);
    /// The caller no longer waits: completes with `why`. No-op for a tag that is not on its way.
    void cancel(void* tag, error_code why);

    /// What the user asked of a hold without waiting.
    void release(impl::hold_view& hold);
    void detach(impl::hold_view& hold);

    /// A member's answer.
    void told(std::uint64_t id, reply r) { ctx_.asked.told(id, r); }
    /// The end: no member answers any more, all callers fail with `errc::client_closed`.
    void close();

    time_point next_deadline() const noexcept { return ctx_.timers.next(); }
    std::vector<lock::completion>& completions() noexcept { return ctx_.completions; }
    /// What it was asked for and what it holds, and what members have not answered.
    std::size_t open_tasks() const noexcept { return ctx_.tasks.size(); }
    std::size_t open_holds() const noexcept { return ctx_.holdings.size(); }
    std::size_t open_questions() const noexcept { return ctx_.asked.size(); }

private:
    void complete(void* tag, error_code ec) { ctx_.completions.push_back({tag, ec, {}, {}}); }

    context ctx_;
};

}  // namespace conch::group

#endif
