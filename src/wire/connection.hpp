// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_CONNECTION_HPP
#define CONCH_SRC_WIRE_CONNECTION_HPP

#include "core/byte_buffer.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "core/repeated_log.hpp"
#include "core/timer_heap.hpp"
#include "resp/reader.hpp"
#include "wire/handshake.hpp"
#include "wire/heartbeat.hpp"
#include "wire/old_connections.hpp"
#include "wire/outage.hpp"
#include "wire/pipeline.hpp"

#include <conch/config.hpp>
#include <conch/observer.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace conch::wire {

/// Where a connection leads, and what must be there.
struct destination {
    address at{};
    role expected = role::any;
};

/// What the owner of a connection hears of it.
struct connection_events {
    void* owner = nullptr;
    /// The server was greeted; nothing else has been written but what fences the old connection.
    void (*ready)(void* owner) = nullptr;
    /// The server said this: the answer to the oldest call that was written, or a message.
    void (*said)(void* owner, const resp::value& message) = nullptr;
    /// It breaks; what was written is about to wait again, before all else that waits.
    void (*breaking)(void* owner) = nullptr;
    /// What was written waits again.
    void (*broken)(void* owner) = nullptr;
    /// It is not ready any more, or an attempt to connect failed for a reason that will not pass.
    void (*lost)(void* owner, errc lasting_reason) = nullptr;
    /// It doesn't know where to connect, or is not connected any more (`was_ready`), or could not
    /// be: who knows better may say so with `move_to()`. The last thing that is done: the answer
    /// may come at once.
    void (*needs_address)(void* owner, bool was_ready) = nullptr;
    /// It is up, down or unused, and was not. Must not change anything.
    void (*changed)(void* owner, const connection_change& c) = nullptr;
};

/// One connection after the other to one server, or to what took its place. Bytes and time come in;
/// it says what should be written and whether a connection is wanted, and does no I/O.
class connection {
public:
    connection(const config& settings, destination to, core::timer_heap& timers,
               core::random& jitter, const core::log& log, stats& counters,
               std::string& last_words);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { timers_.cancel(timer_); }

    // For its link.

    /// Whom it tells what happens; said before it is used.
    void tell(const connection_events& e) noexcept { events_ = e; }
    pipeline& calls() noexcept { return pipeline_; }
    /// Connects, if nothing called for that before.
    void use();
    bool ready() const noexcept { return state_ == state::ready; }
    role expected() const noexcept { return expected_; }
    const time_point& now() const noexcept { return now_; }
    /// Since when it is not ready, why, and why it would not be.
    const outage& down() const noexcept { return down_; }
    /// A connection that broke between these may still run what was written on it.
    bool may_still_run(time_point first, time_point last) const noexcept {
        return old_.may_still_run(first, last);
    }
    /// How many times the data may have become others: another server took this one's place, or
    /// this one was another's replica, or was started again, or began a new history. May overflow.
    std::uint8_t moves() const noexcept { return moves_; }
    void remember_words(std::string_view words) { last_words_ = words; }
    /// Leaves this connection, for this reason.
    void leave(std::string_view why) { broken(why); }
    /// What the server said has no sense.
    void violated(std::string_view what);
    /// A sign of life.
    void heard() noexcept { heartbeat_.heard(now_); }
    bool is_ping(const call& c) const noexcept { return heartbeat_.is_ping(c); }
    /// What the server said last were so many more answers.
    void handled(std::size_t more) noexcept { handled_ += more; }
    /// It answered a command: there is no failure any more.
    void serves() noexcept;
    /// The server is there from now on: leaves the one where it was, if it was another, and
    /// connects at once. No failure; no-op if it is there already.
    void move_to(const address& to);
    /// The same, but what is not connected waits for the end of its pause.
    void move_later(const address& to);
    /// No connection until the next call, and no place.
    void park();
    /// Why it isn't known where to connect; none: for no reason that lasts.
    void presume(errc why) noexcept { down_.failure = why; }
    /// What failed was another server's fault: pauses and attempts are counted anew.
    void forget_failures() noexcept { down_.forget_failures(); }
    /// It answered as it should: the next pause is a short one.
    void worked() noexcept { down_.pauses = 0; }

    // For the driver.

    /// Where to connect.
    const address& target() const noexcept { return target_; }
    /// Which connection there should be: another number than before means to close the old one
    /// and, unless it is 0, to open a new one.
    std::uint64_t wanted() const noexcept { return wanted_; }
    void set_now(time_point now) noexcept { now_ = now; }
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

    static connection_state meaning(state s) noexcept;
    static void on_greeted(void* self);
    static void on_timer(void* self);

    void become(state next);
    void connect();
    void meet_server();
    void pause();
    void break_off(std::string_view why);
    void let_go(state next);
    void watch();
    std::string no_connection() const;

    const config& settings_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const core::log& log_;
    stats& counters_;
    connection_events events_{};
    address target_;
    const role expected_;

    state state_ = state::unused;
    time_point now_{};
    std::uint64_t wanted_ = 0;
    std::uint64_t epoch_ = 0;  // the number of the last connection that was tried
    outage down_{};
    address served_{};  // where it was last ready
    std::string served_data_{};  // the replication id there
    std::uint8_t moves_ = 0;
    std::string& last_words_;
    core::repeated_log failures_{log_, timers_, now_};

    core::byte_buffer input_{};
    std::size_t unread_ = 0;    // bytes of it that were there before
    std::size_t handled_ = 0;   // answers and messages, in this turn
    std::uint64_t halted_ = 0;  // the connection whose input has more of them, or 0
    bool unwatched_ = false;    // watch() is due once all of them were handled
    resp::reader reader_;
    pipeline pipeline_{};
    handshake greeting_;
    heartbeat heartbeat_{pipeline_, settings_};
    old_connections old_{pipeline_, log_, counters_.old_fenced};
    core::timer timer_;
};

}  // namespace conch::wire

#endif
