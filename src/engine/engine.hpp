// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_ENGINE_ENGINE_HPP
#define CONCH_SRC_ENGINE_ENGINE_HPP

#include "core/environment.hpp"
#include "engine/inventory.hpp"
#include "hold/pending.hpp"
#include "hold/querying.hpp"
#include "hold/questions.hpp"
#include "topology/servers.hpp"
#include "wait/counters.hpp"
#include "wait/limiters.hpp"
#include "wait/lookouts.hpp"
#include "wait/slots.hpp"

#include <conch/config.hpp>
#include <conch/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::engine {

/// All of conch but its I/O: bytes, time and requests go in; bytes, completions and the next
/// deadline come out. Deterministic: no clock, no thread, no random device.
///
/// Each turn: `begin_turn(now)`, any number of inputs, `end_turn()`; then take the completions,
/// write what `stage` gives, connect or close as `wanted_connection` says, and come back by
/// `next_deadline`.
class lock_engine {
public:
    /// `client_id`: unique among all clients of the server. `settings` must outlive the engine.
    lock_engine(const config& settings, std::string_view client_id, std::uint64_t seed);
    lock_engine(const lock_engine&) = delete;
    lock_engine& operator=(const lock_engine&) = delete;
    ~lock_engine();

    /// Time goes on: fires what is due. `now` never goes back.
    void begin_turn(time_point now);
    /// Resumes the conversations that were woken, submits the renewals.
    void end_turn();

    // Requests. Each `caller` is completed exactly once, in the completions of this turn or a later
    // one.

    /// `owner`: the id of `options.owner`, where that may be gone by now.
    void acquire(const impl::spec_ptr& spec, const lock_options& options, bool try_only,
                 lock::caller from, std::uint64_t owner = 0);
    void unlock(const impl::view_ptr& view, lock::caller from);
    void leave(const impl::view_ptr& view, duration lease, lock::caller from);
    void wait_lost(const impl::view_ptr& view, duration before, lock::caller from);
    void extend(const impl::view_ptr& view, duration lease, lock::caller from);
    void downgrade(const impl::view_ptr& view, lock::caller from);
    /// Of a hold of the lock of this spec, for `conch::once`. Writes the answer to `*result`. Also
    /// in a drain: a job that is done must get its note.
    void note(const impl::view_ptr& view, const impl::spec_ptr& spec, const impl::once_note& what,
              lock::caller from, impl::once_answer* result) {
        if (!view) {
            done_.refuse(from, errc::not_owner);
        } else if (!what.is_in_range()) {
            done_.refuse(from, errc::invalid_planned_time);
        } else if (may_note(*view, what, from)) {
            slots_.noting.send(view, *spec, what, from, result);
        }
    }
    void status(const impl::spec_ptr& spec, const status_options& options, lock::caller from,
                lock_status* result);
    void force_unlock(const impl::spec_ptr& spec, lock::caller from);
    /// Completes when another holds the lock than `*result` says, and writes there who.
    void watch(const impl::spec_ptr& spec, const status_options& options, lock::caller from,
               lock_status* result);
    /// `wait`: ignored by a try. Writes the answer to `*result`.
    void permits(const impl::rate_spec_ptr& spec, std::uint64_t permits, duration wait,
                 bool try_only, lock::caller from, rate_verdict* result, bool log_refusal = false);
    /// `wait`: ignored by a try, whose completion's remark says whether the permits were granted.
    void acquire_permits(const impl::count_spec_ptr& spec, std::int64_t permits, duration wait,
                         bool try_only, lock::caller from);
    /// `permits`: may be negative where some are added. Writes how many were drained, or are
    /// available, to `*result`.
    void change_permits(const impl::count_spec_ptr& spec, lock::counter_change::kind what,
                        std::int64_t permits, lock::caller from, std::int64_t* result = nullptr);
    /// One command that only reads, at the server of this hash slot.
    void ask(std::vector<std::string>&& command, std::uint16_t hash_slot, lock::caller from,
             server_reply* result) {
        if (admit(from)) {
            questions_.ask(std::move(command), hash_slot, from, result);
        }
    }
    /// The caller no longer waits: completes with `why`.
    void cancel(lock::pending& running, error_code why);

    /// What the user asked of a hold without waiting.
    void release(impl::hold_view& view);
    /// The same, by the hold's destructor.
    void release_dropped(impl::hold_view& view);
    void detach(impl::hold_view& view);

    /// Fails all callers with `errc::client_closed` and tells all holds; releases those that are
    /// left after `drain`. Who watches a hold ahead of time is told a tenth of `drain` before that,
    /// or its own time before, if that is less. Called again, it may only shorten the drain.
    void shutdown(duration drain = {});
    /// After `shutdown()`: nothing is left to be released.
    bool drained() const noexcept { return env_.closing && unsettled() == 0; }
    /// The end: no I/O any more, whatever is left is forgotten.
    void close();

    // The driver's side.

    /// `of`: gives what the observer knows of the caller with this tag.
    void set_caller_context(const void* (*of)(const void* tag)) noexcept {
        done_.set_caller_context(of);
    }
    /// How far the wall clock is ahead of the times that this is given.
    void set_wall_clock(duration ahead) noexcept { env_.wall_clock = ahead; }
    /// So many acquires, or releases, of one write at least leave as one script.
    void join_from(std::size_t fewest) noexcept { servers_.join_from(fewest); }
    /// How many connections there may be, a number that grows: each is known by its place, and the
    /// first is that of the server that has the locks, or of one of a cluster's.
    std::size_t links() const noexcept { return servers_.count(); }
    std::uint64_t wanted_connection(std::size_t i = 0) const noexcept {
        return connection(i).wanted();
    }
    /// Where to.
    const wire::address& target(std::size_t i = 0) const noexcept { return connection(i).target(); }
    void connected(std::size_t i = 0);
    /// The server was greeted, and is one that was looked for.
    bool is_ready(std::size_t i) const noexcept { return connection(i).ready(); }
    void connection_broken(std::string_view why, errc lasting = {}, std::size_t i = 0);
    /// It leads to a sentinel, which has users of its own.
    bool is_sentinel(std::size_t i) const noexcept { return servers_.is_sentinel(i); }
    /// Whom the next connection is greeted as.
    void log_in_as(credentials c, std::size_t i = 0) { connection(i).log_in_as(std::move(c)); }
    core::byte_buffer& input(std::size_t i = 0) noexcept { return connection(i).input(); }
    /// What it brought may be too much for one turn: the next begins at once then.
    void received(std::size_t i = 0);
    bool halted(std::size_t i) const noexcept { return connection(i).halted(); }
    /// Any of them, at the end of the turn.
    bool halted() const noexcept { return halted_; }
    bool has_output(std::size_t i = 0) const noexcept { return connection(i).has_output(); }
    /// There is something to write, and nobody waits for any of it.
    bool unhurried() const noexcept;
    void stage(std::string& out, std::size_t i = 0);
    time_point next_deadline() const noexcept;
    std::vector<lock::completion>& completions() noexcept { return done_.queued(); }

    stats counters() const noexcept {
        stats s;
        copy_counters(s);
        return s;
    }
    void copy_counters(stats& s) const noexcept;
    const std::string& last_words() const noexcept { return servers_.last_words(); }
    const std::string& last_deadlock() const noexcept { return env_.telemetry.last_deadlock; }
    /// Acquisitions that the server has or may still get, and permits that come back.
    std::size_t unsettled() const noexcept { return slots_.pool.live() + counters_.unsettled(); }
    /// The one of this number is among them.
    bool tends(std::uint64_t number) const noexcept;
    inventory belongings() const noexcept;

private:
    wire::connection& connection(std::size_t i) noexcept { return servers_.connection(i); }
    const wire::connection& connection(std::size_t i) const noexcept {
        return servers_.connection(i);
    }
    bool admit(lock::caller from);
    /// Of what was done under a hold, the first note is always admitted, as a release is.
    bool may_note(impl::hold_view& view, const impl::once_note& what, lock::caller from) {
        const bool always = what.done_ms && !lock::noter::is_being_written(view);
        if (always && (!env_.closing || drain_.armed())) {
            done_.admit();
            return true;
        }
        return drain_.armed() ? make_room(from) : admit(from);
    }
    /// Counts one more operation; whether there was room for it. If not, it was refused.
    bool make_room(lock::caller from);

    static void on_ready(void* self, wire::link& l);
    static void on_lost(void* self, wire::link& l, errc lasting_reason);
    static void on_regrouped(void* self);
    static void on_changed(void* self, const connection_change& c);
    static void on_drained(void* self);
    void turn_away();
    void close_at(time_point end, duration drain);
    void lose_all();

    core::environment env_;
    lock::completions done_{};
    topology::servers servers_;
    lock::slots slots_;
    lock::limiters limiters_{env_, done_, servers_};
    lock::counters counters_{env_, done_, servers_, slots_.field_prefix};
    lock::queries queries_{env_, done_, servers_, slots_.names};
    lock::lookouts lookouts_{env_, done_, servers_, queries_};
    lock::questions questions_{env_, done_, servers_};
    bool halted_ = false;
    core::timer drain_{this, &lock_engine::on_drained};
};

}  // namespace conch::engine

#endif
