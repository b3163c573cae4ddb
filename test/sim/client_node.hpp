// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CLIENT_NODE_HPP
#define CONCH_TEST_SIM_CLIENT_NODE_HPP

#include "engine/engine.hpp"
#include "sim/effect.hpp"
#include "sim/held.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"

#include <conch/config.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim {

/// What a user gives back when it unlocks, and when.
struct unlocking {
    held of{};
    instant asked_at = 0;
    std::uint64_t connects = 0;  ///< of its client, so far
    bool alone = false;          ///< it never nested in this acquisition
};

/// What a user asks about, or wants for longer, and when.
struct request {
    std::size_t name = 0;
    instant asked_at = 0;
    duration lease{};  ///< zero: it only asks
    held of{};         ///< what it wants for longer
};

class asker;

/// What an asker wants of a rate limit.
struct permit_terms {
    std::size_t limit = 0;
    std::uint64_t permits = 0;
    asker* by = nullptr;
    rate_verdict verdict{};  ///< the answer
};

/// One call of a user, and how it ended.
struct call {
    lock::pending* running = nullptr;
    int completions = 0;
    error_code ec{};
    impl::view_ptr view{};
    impl::remark said = impl::remark::none;
    bool was_expired = false;  ///< when it was granted
    std::uint64_t number = 0;  ///< of the acquisition, if it was granted one
    std::uint64_t client = 0;
    std::uint64_t user = 0;
    std::uint64_t place = 0;     ///< among all calls
    instant asked_at = -1;       ///< when it reached the engine
    instant ended_at = -1;       ///< the turn's time; the handler runs later
    std::uint64_t connects = 0;  ///< of its client, until then
    bool forces = false;         ///< takes a lock away
    bool downgrades = false;     ///< makes a writer, of which `asks` knows, a reader
    bool acquires = false;       ///< asks for a hold, or for a deeper level of one
    std::size_t name = 0;        ///< of the lock that it asks for, or takes away
    duration wait{};             ///< how long such an acquire waits
    bool shared = false;         ///< for reading
    bool try_only = false;       ///< to such an acquire, an empty hold is an answer
    bool reserved = false;       ///< has room however much is pending
    bool given_up = false;       ///< its user cancelled it
    impl::view_ptr watches{};    ///< what it tells the end of
    duration before{};           ///< so much sooner
    impl::view_ptr within{};     ///< what it asks for a deeper level of, if it does
    std::optional<unlocking> unlocks{};
    std::optional<request> asks{};
    lock_status status{};                   ///< the answer to a question
    std::optional<permit_terms> permits{};  ///< no user asks for them: an asker
};

/// What a client tells those who watch it.
struct client_events {
    /// A call ended; its handler runs some time after the turn in which it did.
    virtual void ended(std::uint64_t client, call& c) = 0;
    /// At the end of each turn, before the handlers.
    virtual void turned(std::uint64_t client) = 0;

protected:
    ~client_events() = default;
};

/// A client's process: the real engine with a driver on virtual time. Its clock drifts against the
/// server's, and counts the time while the process is paused.
class client_node final : public client_end {
public:
    struct clock_settings {
        std::int64_t drift_ppm = 0;              ///< how much faster than true time
        duration ahead = std::chrono::hours{1};  ///< when true time is 0
    };

    client_node(world& w, network& n, client_events& e, const config& settings,
                const clock_settings& clock, std::string id, std::uint64_t seed);
    client_node(const client_node&) = delete;
    client_node& operator=(const client_node&) = delete;

    std::uint64_t index() const noexcept { return index_; }
    const std::string& id() const noexcept { return id_; }
    const config& settings() const noexcept { return settings_; }
    time_point local_now() const noexcept { return local(world_.now()); }
    time_point local(instant t) const noexcept;
    /// The first moment at which the local clock shows `t` or more.
    instant true_time(time_point t) const noexcept;

    engine::lock_engine& engine() noexcept { return engine_; }
    const engine::lock_engine& engine() const noexcept { return engine_; }
    /// A turn in which `inputs` are given to the engine; when the process goes on, if it is paused.
    /// Nothing happens if it is dead.
    template <typename Inputs>
    void turn(Inputs&& inputs) {
        begin();
        inputs();
        end();
    }
    bool running() const noexcept { return !dead_ && paused_.until <= world_.now(); }
    bool dead() const noexcept { return dead_; }
    instant paused_until() const noexcept { return paused_.until; }
    /// When something can be done that was to be done now, in a pause.
    instant put_off() noexcept {
        feel(paused_.by);
        return paused_.until;
    }
    /// Something has come to it that it hasn't taken yet.
    bool has_unread() const noexcept { return catching_up_ || !waiting_.empty(); }
    /// When the process next looks by itself, on true time.
    instant wakes_at() const noexcept { return timer_at_; }

    /// As the driver: closed once nothing is left to be released, or when the drain and the time
    /// for an answer are over.
    void shut_down(duration drain);
    bool closing() const noexcept { return closing_since_ >= 0; }
    bool closed() const noexcept { return closed_; }
    /// Nothing was left to be released when it was closed.
    bool drained() const noexcept { return drained_; }
    instant closing_since() const noexcept { return closing_since_; }
    time_point drain_end() const noexcept { return drain_end_; }
    bool connected() const noexcept;
    /// Any of its connections should be there.
    bool wants_connection() const noexcept;

    // Faults.

    /// Felt if anything waits for its end that would have come about: bytes, a deadline, something
    /// to write, a handler, what a user wants to do.
    void pause(instant until, effect* e = nullptr);
    /// The process is gone: what it held stays on the server. `heard`: its system hangs up for it.
    void die(bool heard);
    /// Goes on now.
    void heal();

    // The network's.

    void opened(std::uint64_t number) override;
    void bytes_came(std::uint64_t number, std::string_view bytes) override;
    void broken(std::uint64_t number) override;

private:
    struct arrival {
        enum class kind : std::uint8_t { opened, bytes, broken } what;
        std::uint64_t number;
        std::string bytes{};
    };

    /// That of one of the engine's links.
    struct connection {
        std::uint64_t number = 0;  // 0: none
        bool connected = false;
        bool writing = false;
    };

    void begin();
    void end();
    void close_in_time();
    void came(arrival a);
    void take(const arrival& a);
    void go_on(std::uint64_t, std::uint64_t);
    bool late() const noexcept;
    time_point next_look() const noexcept;
    bool is_current(std::uint64_t tag) const noexcept;
    void tend_connections();
    void write();
    void written(std::uint64_t tag, std::uint64_t);
    void arm_timer();
    void on_timer(std::uint64_t generation, std::uint64_t);
    void hand_out();
    void run_handler(std::uint64_t, std::uint64_t);

    world& world_;
    network& network_;
    client_events& events_;
    const clock_settings clock_;
    const std::string id_;
    const config settings_;
    std::uint64_t index_;
    engine::lock_engine engine_;
    std::vector<connection> connections_{};  // by place
    instant timer_at_ = -1;                  // -1: not armed
    std::uint64_t timer_generation_ = 0;
    standstill paused_{};
    bool dead_ = false;
    instant closing_since_ = -1;
    time_point drain_end_ = core::never;
    bool drained_ = false;
    bool closed_ = false;
    std::vector<arrival> waiting_{};  // came while it was paused
    bool catching_up_ = false;        // takes these
    std::deque<call*> ended_{};       // their handlers are to run
};

}  // namespace conch::sim

#endif
