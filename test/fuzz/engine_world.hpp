// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_FUZZ_ENGINE_WORLD_HPP
#define CONCH_TEST_FUZZ_ENGINE_WORLD_HPP

#include "engine/engine.hpp"
#include "fuzz/server_model.hpp"

#include <conch/observer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace conch::fuzz {

/// One operation of a caller.
struct request {
    enum class kind : std::uint8_t { acquire, unlock, watch, extend, query, permits };

    kind what{};
    lock::pending* running = nullptr;
    int completions = 0;
    bool try_only = false;
    bool nests = false;
    bool fenced = false;
    std::size_t name = 0;
    std::size_t crowd = 0;  ///< operations or acquisitions that were pending before it
    time_point due{};       ///< it must be completed by then
    duration before{};      ///< of a watch: so long ahead of the end
    impl::view_ptr view{};  ///< what it is about, or was granted
    lock_status status{};
    rate_verdict verdict{};
};

/// Counts what the engine tells of.
struct counting_observer : observer {
    void waited(const wait_span& s) noexcept override;
    void held(const hold_span& s) noexcept override;
    void connection_changed(const connection_change& c) noexcept override;
    std::uint64_t waits = 0;
    std::uint64_t holds = 0;
    int connections_up = 0;
    int connections_down = 0;
};

/// An engine on virtual time, with callers, a driver and a server that know no mercy. After each
/// turn everything is checked that must hold whatever happened; a violation ends the process.
class engine_world {
public:
    static constexpr std::array<const char*, 3> names{"a", "b{x}", "c"};

    static constexpr std::size_t limits = 2;  ///< of each kind one

    /// `durable`: all locks want a replica, and only their connection is played.
    explicit engine_world(config settings, std::uint64_t seed, bool durable = false);
    engine_world(const engine_world&) = delete;
    engine_world& operator=(const engine_world&) = delete;
    ~engine_world();

    // Callers. All at once what lies between `begin_batch` and `end_batch`.

    void begin_batch();
    void end_batch();
    void acquire(std::size_t name, bool fenced, const lock_options& o, bool try_only,
                 std::uint64_t owner);
    void unlock(std::size_t hold);
    void release(std::size_t hold);
    void detach(std::size_t hold);
    void extend(std::size_t hold, duration lease);
    void wait_lost(std::size_t hold, duration before);
    void status(std::size_t name);
    void force_unlock(std::size_t name);
    void permits(std::size_t limit, std::uint64_t n, duration wait, bool try_only);
    void cancel(std::size_t request_);
    void shutdown(duration drain);
    /// So many replicas acknowledge what they are asked about.
    void replicas(std::size_t n) { server_.replicas = static_cast<std::int64_t>(n); }
    bool is_durable() const noexcept { return place_ != 0; }
    std::size_t hold_count() const noexcept { return holds_.size(); }
    std::size_t open_count() const noexcept { return open_.size(); }

    // Time.

    /// With a turn whenever the engine asked for one.
    void advance(duration d);
    /// To the engine's next deadline.
    void advance_to_deadline();
    /// Without a turn in between: the machine slept.
    void skip(duration d);

    // The driver and the network.

    void connect();
    void break_connection();
    /// What the client wrote is lost with the connection, or was run before it broke; if neither,
    /// it may still run later.
    enum class fate : std::uint8_t { lost, run, later };
    void break_connection(fate of_unread);
    void block_writes(bool blocked);
    void run_old_connection();
    /// At most so many bytes of what the server answered.
    void deliver(std::size_t most);
    /// Bytes that no server sent.
    void feed_raw(std::string_view bytes);

    // The server.

    void serve(std::size_t commands);
    void refuse(std::string_view words);
    enum class fault : std::uint8_t { wrong, twice, none, refused_but_run };
    void answer_wrongly(fault how, std::string_view answer);
    void other_takes(std::size_t name, duration lease);
    void other_releases(std::size_t name);
    void delete_key(std::size_t name);
    void send_push(std::size_t name, std::string_view what);
    void restart_server(bool with_data);
    void forget_scripts() { server_.forget_scripts(); }

    /// The connection is made, and commands are answered, as soon as they come.
    bool connects = true;
    bool serves = true;
    /// Unless empty: the server answers every script with this error.
    std::string_view refusal{};
    /// Nobody lies to the client: what it believes must be true.
    bool honest = true;

    /// Shuts down, with a server that answers. All must be released before long.
    void wind_down(duration drain);
    /// Ends everything, and checks that nothing is left.
    void close();

private:
    struct record {
        time_point bound{};  ///< a hold by the commands so far ends no later
        std::size_t name = 0;
        bool release_sent = false;
    };

    template <typename F>
    void turn(F&& inputs);
    void after_turn();
    void settle();
    void collect();
    void finish(request& r, lock::completion& c);
    void granted(request& r);
    void write();
    /// Which connection there should be; 0: none.
    std::uint64_t wanted() const noexcept {
        return place_ < engine_.links() ? engine_.wanted_connection(place_) : 0;
    }
    void note(const words& command);
    void note_lease(const std::string& field, const std::string& lease_ms, bool is_acquire,
                    std::size_t name);
    void note_release(const std::string& field, std::size_t name);
    record& record_of(std::uint64_t number);
    void drop_connection(fate of_unread);
    void feed(std::string_view bytes);
    words take_command();
    void answer_with_error(std::string_view text);
    void run(session& s, const words& command);
    void kill_old();
    request& add(request::kind what, time_point due);
    bool gone_by_now(const impl::hold_view& v) const;
    void exempt(std::size_t name);

    void check();
    void check_holds();
    void check_truth(const lock::acquisition& a);
    void check_requests();
    void check_released();
    void check_missed();

    const std::size_t place_;  ///< of the connection that is played
    config settings_;
    counting_observer observer_;
    time_point now_{std::chrono::hours{1}};
    engine::lock_engine engine_;
    bool in_batch_ = false;
    bool blocked_ = false;
    bool closing_ = false;
    bool closed_ = false;
    int turns_at_once_ = 0;  ///< since the time last went on or something came from outside

    std::array<std::array<impl::spec_ptr, 2>, names.size()> specs_{};
    std::array<impl::rate_spec_ptr, limits> rates_{};
    std::uint64_t permits_granted_ = 0;
    std::deque<request> requests_{};
    std::vector<request*> open_{};
    std::vector<impl::view_ptr> holds_{};
    std::vector<record> records_{};
    std::uint64_t grants_ = 0;
    duration longest_lease_{};

    server_model server_{};
    std::uint64_t connected_ = 0;
    std::uint64_t connects_before_ = 0;  ///< that the engine counted before this connection
    session session_{};
    std::string arriving_{};    ///< sent by the server, not yet delivered
    std::list<session> old_{};  ///< broken connections whose commands may still run
    bool had_old_ = false;
    std::array<bool, names.size()> forced_{};
    std::array<bool, names.size()> detached_{};
    std::array<std::uint64_t, names.size()> last_fence_{};
    std::set<std::string> missed_{};      ///< fields that this connection's answers say are gone
    std::set<std::string> taken_away_{};  ///< fields that the server lost by no fault of the client
};

template <typename F>
void engine_world::turn(F&& inputs) {
    if (in_batch_) {
        inputs();
        return;
    }
    engine_.begin_turn(now_);
    inputs();
    engine_.end_turn();
    after_turn();
    settle();
}

}  // namespace conch::fuzz

#endif
