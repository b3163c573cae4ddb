// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_LINK_HPP
#define CONCH_SRC_WIRE_LINK_HPP

#include "core/log.hpp"
#include "core/random.hpp"
#include "core/timer_heap.hpp"
#include "wire/connection.hpp"
#include "wire/delayed_calls.hpp"
#include "wire/link_events.hpp"
#include "wire/pipeline.hpp"
#include "wire/reply_router.hpp"
#include "wire/subscriptions.hpp"

#include <conch/observer.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace conch::wire {

/// The calls and listeners of one server, whatever its connection does. That is there before and
/// after it, and serves no other link.
class link {
public:
    /// `longest_pause`: of what a server refuses for now.
    link(connection& c, const duration& longest_pause, core::timer_heap& timers,
         core::random& jitter, const core::log& log, stats& counters, link_events events);
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    // For the locks.

    /// Sends the call as soon as it can, and connects for it if need be. `c.type->done` is called
    /// exactly once, unless it is withdrawn.
    void submit(call& c);
    /// Sends a call once more that was answered on the last connection, before the others: what it
    /// did there may be gone with it.
    void repeat(call& c);
    /// The call was answered on this connection, and goes elsewhere: whatever it is told there, it
    /// was done.
    void doubt(call& c) const noexcept;
    /// Connects, if nothing called for that before.
    void use() { connection_.use(); }
    /// Takes back a call that waits.
    void withdraw(call& c) noexcept { pipeline_.withdraw(c); }
    /// It is not more urgent than its type any more.
    void calm(call& c) noexcept { pipeline_.calm(c); }
    subscriptions& channels() noexcept { return channels_; }
    const subscriptions& channels() const noexcept { return channels_; }
    bool ready() const noexcept { return connection_.ready(); }
    /// Where the server is.
    const address& target() const noexcept { return connection_.target(); }
    /// How many times another server took this one's place. May overflow.
    std::uint8_t moves() const noexcept { return connection_.moves(); }
    /// When the link was last ready, or first wanted; now, if it is ready.
    time_point down_since(time_point now) const noexcept {
        return ready() ? now : connection_.down().since;
    }
    /// What to tell who waited in vain for a connection.
    errc why_down() const noexcept { return connection_.down().why(); }
    /// What to tell who waited too long for the answer to this call.
    errc why_unanswered(const call& c) const noexcept {
        return c.trouble != errc{} ? c.trouble : why_down();
    }
    /// An answer to a part of a call was this error. True if a replica gave it where a master is
    /// wanted: the connection is left, and what was asked may be asked again on the next.
    bool part_refused(std::string_view words) { return replies_.part_refused(words); }
    /// A command took so long. What took much longer than the others says little of the next one.
    void took(duration d) noexcept;
    /// About how long a command takes, there and back; a second at most, zero before the first.
    duration round_trip() const noexcept { return round_trip_; }

    // For the topology.

    /// Since when there is no connection, and why.
    const outage& down() const noexcept { return connection_.down(); }
    /// A connection that broke between these may still run what was written on it.
    bool may_still_run(time_point first, time_point last) const noexcept {
        return connection_.may_still_run(first, last);
    }
    /// The server is there from now on: leaves the one where it was, if it was another, and
    /// connects. What is not connected does so `at_once`, or at the end of its pause. No failure;
    /// no-op if it is there already.
    void move_to(const address& to, bool at_once = true) {
        at_once ? connection_.move_to(to) : connection_.move_later(to);
    }
    /// The same, to another server: what failed was not its fault, and pauses and attempts are
    /// counted anew.
    void begin_anew_at(const address& to, bool at_once = true);
    /// No connection until the next call, and no place.
    void park() { connection_.park(); }
    /// Leaves this connection, for this reason, which is remembered.
    void leave(const std::string& why);
    /// Why there is no connection, or what the server refused last, in words for the user.
    void remember_words(std::string_view words) { connection_.remember_words(words); }
    /// Why it isn't known where to connect; none: for no reason that lasts.
    void presume(errc why) noexcept { connection_.presume(why); }
    /// It answered as it should: the next pause is a short one.
    void worked() noexcept { connection_.worked(); }
    /// So many calls at least leave as one script.
    void join_from(std::size_t fewest) noexcept { pipeline_.join_from(fewest); }
    /// How many bytes what comes from the server may take.
    std::size_t input_room() const noexcept { return connection_.input().capacity(); }
    /// Takes a call of another link, as it is.
    void adopt(call& c);
    /// Asks again after a pause; the call is nowhere.
    void retry_later(call& c, errc trouble) { delayed_.add(c, trouble); }
    /// Moves what waits to `gone`, in its order, where `leaves` says so.
    template <typename Predicate>
    void take_waiting(call_list& gone, Predicate leaves) noexcept {
        pipeline_.take_waiting(gone, leaves);
        delayed_.take(gone, leaves);
    }
    /// Something is asked of it, or it listens.
    bool in_use() const noexcept {
        return !pipeline_.empty() || !delayed_.empty() || channels_.size() != 0;
    }
    /// No connection any more, for good. Every call ends as lost.
    void close();

private:
    static void on_ready(void* self);
    static void on_said(void* self, const resp::value& message);
    static void on_breaking(void* self);
    static void on_broken(void* self);
    static void on_lost(void* self, errc lasting_reason);
    static void on_address_needed(void* self, bool was_ready);
    static void on_changed(void* self, const connection_change& c);
    static void on_resumed(void* self);

    const link_events events_;
    connection& connection_;
    pipeline& pipeline_;
    subscriptions channels_{pipeline_};
    delayed_calls delayed_;
    reply_router replies_;
    duration round_trip_{};
};

}  // namespace conch::wire

#endif
