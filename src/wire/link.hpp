// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_LINK_HPP
#define CONCH_SRC_WIRE_LINK_HPP

#include "core/byte_buffer.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "core/repeated_log.hpp"
#include "core/timer_heap.hpp"
#include "resp/reader.hpp"
#include "wire/delayed_calls.hpp"
#include "wire/handshake.hpp"
#include "wire/heartbeat.hpp"
#include "wire/old_connections.hpp"
#include "wire/outage.hpp"
#include "wire/pipeline.hpp"
#include "wire/redirection.hpp"
#include "wire/subscriptions.hpp"

#include <conch/config.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace conch::wire {

/// What the locks hear of their link.
struct link_events {
    void* owner = nullptr;
    /// A new connection is ready; nothing has been written on it but the greeting, and the
    /// command that fences the old connection.
    void (*ready)(void* owner) = nullptr;
    /// The connection broke, or an attempt to connect failed for a reason that will not pass.
    void (*lost)(void* owner, errc lasting_reason) = nullptr;
    /// It doesn't know where to connect, or is not connected any more (`was_ready`), or could not
    /// be: who knows better may say so with `move_to()`.
    void (*needs_address)(void* owner, bool was_ready) = nullptr;
    /// The server sends a call elsewhere: `adopt()`s it where it belongs, or delays it here. Null:
    /// there is nowhere else.
    void (*redirected)(void* owner, call& c, const redirection& to) = nullptr;
    /// Calls that were delayed are about to be sent again: takes what belongs elsewhere by now.
    /// Null: there is nowhere else.
    void (*resumed)(void* owner) = nullptr;
    /// The server takes no script with keys of several hash slots. Null: it gets none.
    void (*hash_slots_crossed)(void* owner) = nullptr;
};

/// Where a link begins, and what it must find there.
struct destination {
    address at{};
    role expected = role::any;
};

/// One server (or what took its place), reached by one connection after the other. Bytes and time
/// come in; it says what should be written and whether a connection is wanted, and does no I/O.
class link {
public:
    link(const config& settings, destination to, core::timer_heap& timers, core::random& jitter,
         const core::log& log, stats& counters, std::string& last_words, link_events events);
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link();

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
    void use();
    /// Takes back a call that waits.
    void withdraw(call& c) noexcept { pipeline_.withdraw(c); }
    subscriptions& channels() noexcept { return channels_; }
    const subscriptions& channels() const noexcept { return channels_; }
    bool ready() const noexcept { return state_ == state::ready; }
    /// When the link was last ready, or first wanted; now, if it is ready.
    time_point down_since(time_point now) const noexcept { return ready() ? now : down_.since; }
    /// A connection that broke between these may still run what was written on it.
    bool may_still_run(time_point first, time_point last) const noexcept {
        return old_.may_still_run(first, last);
    }
    /// What to tell who waited in vain for a connection.
    errc why_down() const noexcept { return down_.why(); }
    /// Why it isn't known where to connect; none: for no reason that lasts.
    void presume(errc why) noexcept { down_.failure = why; }
    /// The last attempt to connect met a replica, where a master is wanted.
    bool met_replica() const noexcept { return down_.met_replica; }
    /// What to tell who waited too long for the answer to this call.
    errc why_unanswered(const call& c) const noexcept {
        return c.trouble != errc{} ? c.trouble : why_down();
    }
    const std::string& last_words() const noexcept { return last_words_; }
    void remember_words(std::string_view words) { last_words_ = words; }
    /// An answer to a part of a call was this error. True if a replica gave it where a master is
    /// wanted: the connection is left, and what was asked may be asked again on the next.
    bool part_refused(std::string_view words);
    /// A command took so long. What took much longer than the others says little of the next one.
    void took(duration d) noexcept;
    /// About how long a command takes, there and back; a second at most, zero before the first.
    duration round_trip() const noexcept { return round_trip_; }
    /// How many times another server took this one's place. May overflow.
    std::uint8_t moves() const noexcept { return moves_; }

    // For the topology.

    /// The server is there from now on: leaves the one where it was, if it was another, and
    /// connects at once. No failure; no-op if it is there already.
    void move_to(const address& to);
    /// The same, but what is not connected waits for the end of its pause.
    void move_later(const address& to);
    /// Leaves this connection, for this reason.
    void leave(std::string_view why) { broken(why); }
    /// Takes a call of another link, as it is.
    void adopt(call& c);
    /// Asks again after a pause; the call is nowhere.
    void retry_later(call& c, errc trouble);
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
    /// Without a connection until the next call, and without a place. Precondition: not in use.
    void park();
    /// What failed was another server's fault: pauses and attempts are counted anew.
    void forget_failures() noexcept { down_.forget_failures(); }
    /// When it last began to connect.
    time_point tried_at() const noexcept { return down_.tried_at; }
    /// It answered as it should: the next pause is a short one.
    void worked() noexcept { down_.pauses = 0; }
    /// Why another attempt to connect would fail as the last did; none if it may not.
    errc lasting_failure() const noexcept { return down_.lasting; }

    // For the driver.

    /// Where to connect.
    const address& target() const noexcept { return target_; }

    /// Which connection there should be: another number than before means to close the old one
    /// and, unless it is 0, to open a new one.
    std::uint64_t wanted() const noexcept { return wanted_; }
    void set_now(time_point now) noexcept { now_ = now; }
    void join_from(std::size_t fewest) noexcept { pipeline_.join_from(fewest); }
    void connected();
    /// The wanted connection could not be made, or broke. `lasting`: so will the next.
    void broken(std::string_view why, errc lasting = {});
    /// Whom the next connection is greeted as.
    void log_in_as(credentials c) { greeting_.log_in_as(std::move(c)); }
    core::byte_buffer& input() noexcept { return input_; }
    const core::byte_buffer& input() const noexcept { return input_; }
    /// Bytes were committed to `input()`: handles what they say, or the first part of it.
    void received();
    /// There is more to handle in a later turn. What follows from the first part leaves before, so
    /// that the server works on it meanwhile.
    bool halted() const noexcept { return halted_ != 0 && halted_ == wanted_; }
    /// Handles the next part.
    void go_on();
    bool has_output() const noexcept { return pipeline_.has_output(ready()); }
    /// Somebody waits for some of that.
    bool hurries() const noexcept { return pipeline_.hurries(ready()); }
    /// Appends what shall be written now.
    void stage(std::string& out);
    /// No connection any more, for good. Every call ends as lost.
    void close();

private:
    /// So many answers are handled in one turn: as many calls as leave as one script.
    static constexpr std::size_t most_handled = pipeline::most_joined;

    enum class state : std::uint8_t {
        unused,
        no_address,  ///< wants a connection, and doesn't know where to
        pausing,
        connecting,
        greeting,
        ready,
        closed
    };

    static void on_greeted(void* self);
    static void on_timer(void* self);
    static void on_resumed(void* self);

    void connect();
    void pause();
    void down(std::string_view why);
    void ask_for_address(bool was_ready);
    void let_go(bool pauses);
    bool demoted(std::string_view words);
    std::string no_connection() const;
    std::string refused_for_now() const;
    void log_failure(std::string_view why);
    void log_refusal(std::string_view words);
    void protocol_violation(std::string_view what);
    void handle(const resp::value& message);
    void handle_push(const resp::value& push);
    bool is_misdirected(const call* c, const resp::value& reply);
    void answer(call& c, const resp::value& reply);
    void answer_joined(std::size_t count, const resp::value& replies);
    void refused_together(std::size_t count, const resp::value& reply);
    bool redirect(call& c, std::string_view words);
    bool moved_away(call& c, std::string_view words);
    void watch();

    const config& settings_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const core::log& log_;
    stats& counters_;
    link_events events_;
    address target_;
    const role expected_;

    state state_ = state::unused;
    time_point now_{};
    std::uint64_t wanted_ = 0;
    std::uint64_t epoch_ = 0;  // the number of the last connection that was tried
    outage down_{};
    address served_{};  // where it was last ready
    std::uint8_t moves_ = 0;
    duration round_trip_{};
    std::string& last_words_;
    core::repeated_log repeated_{log_, timers_, now_};

    core::byte_buffer input_{};
    std::size_t unread_ = 0;    // bytes of it that were there before
    std::size_t handled_ = 0;   // answers and messages, in this turn
    std::uint64_t halted_ = 0;  // the connection whose input has more of them, or 0
    bool unwatched_ = false;    // watch() is due once all of them were handled
    resp::reader reader_;
    pipeline pipeline_{};
    subscriptions channels_{pipeline_};
    handshake greeting_;
    heartbeat heartbeat_{pipeline_, settings_};
    old_connections old_{pipeline_, log_, counters_.old_fenced};
    delayed_calls delayed_{pipeline_, timers_, jitter_,          now_,
                           settings_.reconnect_delay_max, this, &link::on_resumed};
    core::timer timer_;
};

}  // namespace conch::wire

#endif
