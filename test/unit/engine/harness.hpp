// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_HARNESS_HPP
#define CONCH_TEST_UNIT_ENGINE_HARNESS_HPP

#include "engine/engine.hpp"
#include "unit/wire/text.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// One caller's operation and how it ended.
struct operation {
    lock::pending* running = nullptr;
    int completions = 0;
    error_code ec{};
    impl::view_ptr view{};
    impl::remark said = impl::remark::none;
    rate_verdict verdict{};
    std::int64_t number = 0;  ///< of a semaphore
    time_point at{};  ///< when it was completed

    bool done() const noexcept { return completions > 0; }
    bool ended(error_code with) const noexcept { return completions == 1 && ec == with; }
    bool did() const noexcept { return said == impl::remark::done; }
    bool unasked() const noexcept { return said == impl::remark::unasked; }
    bool granted() const noexcept { return completions == 1 && !ec && view; }
};

/// The defaults, but without PINGs between what a test is about.
config quiet();

/// A lock engine on virtual time, and the hand that plays its driver and its server. After each
/// turn the engine's output is written and cut into commands, unless writes are blocked; nothing is
/// answered by itself but the greeting. When it ends, the engine is closed, and each caller must
/// have been completed exactly once, with nothing left.
class engine_harness {
public:
    static constexpr std::string_view run_id = "1111";

    /// `place`: which of the engine's connections this hand plays; the others are never made.
    explicit engine_harness(config c = quiet(), std::uint64_t seed = 1, std::size_t place = 0,
                            std::string_view client_id = "c");
    engine_harness(const engine_harness&) = delete;
    engine_harness& operator=(const engine_harness&) = delete;
    ~engine_harness();

    // Time.

    time_point now() const noexcept { return now_; }
    /// Time since the harness was made.
    duration elapsed() const noexcept { return now_ - start; }
    /// A turn at this very moment.
    template <typename F>
    void turn(F&& inputs) {
        const bool outer = !in_turn_;
        if (outer) {
            begin();
        }
        inputs();
        if (outer) {
            end();
        }
    }
    void turn();
    /// Lets so much time pass, with a turn whenever the engine asked for one, and at the end.
    void advance(duration d);
    /// Lets so much time pass without a turn: the loop was busy or the machine slept.
    void skip(duration d) noexcept { now_ += d; }

    // The connection.

    /// Makes the connection that the engine wants, waiting for its back-off if need be, and answers
    /// the greeting.
    void connect(std::int64_t client_id = 1, std::string_view run = run_id);
    /// The same, but HELLO is refused with these words.
    void connect_and_refuse(std::string_view words);
    void break_connection();
    /// Waits for the engine's back-off until it wants a connection.
    void wait_for_attempt();
    /// The server's bytes, all in one read; inside of `turn`, what one turn doesn't handle is left
    /// for later ones.
    template <typename... Replies>
    void reply(const Replies&... bytes) {
        feed(join(bytes...));
    }
    /// What was written since this was last asked.
    std::vector<std::string> sent();
    std::vector<command> sent_commands();
    /// How many writes there were so far.
    std::size_t writes() const noexcept { return writes_; }
    void block_writes() noexcept { blocked_ = true; }
    void unblock_writes();

    // Callers. Each in a turn of its own, unless inside of `turn`.

    operation& lock(std::string_view name, const lock_options& o = {});
    operation& try_lock(std::string_view name, const lock_options& o = {});
    operation& unlock(const impl::view_ptr& view);
    operation& wait_lost(const impl::view_ptr& view, duration before = {});
    operation& extend(const impl::view_ptr& view, duration lease);
    operation& leave(const impl::view_ptr& view, duration lease);
    operation& downgrade(const impl::view_ptr& view);
    operation& note(const impl::view_ptr& view, std::string_view name, const impl::once_note& what,
                    impl::once_answer* result);
    operation& status(std::string_view name, lock_status* result,
                      const status_options& options = {});
    operation& force_unlock(std::string_view name);
    operation& permits(const impl::rate_spec_ptr& limit, std::uint64_t n, duration wait = forever);
    operation& try_permits(const impl::rate_spec_ptr& limit, std::uint64_t n = 1);
    operation& take(const impl::count_spec_ptr& of, std::int64_t n, duration wait = forever);
    operation& try_take(const impl::count_spec_ptr& of, std::int64_t n = 1);
    operation& change(const impl::count_spec_ptr& of, lock::counter_change::kind what,
                      std::int64_t n = 0);
    void cancel(operation& o, error_code why = boost::system::errc::make_error_code(
                                  boost::system::errc::operation_canceled));
    void release(const impl::view_ptr& view);
    void detach(const impl::view_ptr& view);
    void shutdown(duration drain = {});
    void close();

    /// Connects if need be, acquires, answers "granted", and forgets what was sent for it.
    impl::view_ptr grant(std::string_view name, const lock_options& o = {});

    /// The i-th operation that was begun, from 0.
    operation& operation_at(std::size_t i) { return operations_.at(i); }

    impl::spec_ptr spec(std::string_view name, const mutex_options& o = {});
    /// From now on this name is that of such a lock.
    void use(const protocol::lock_protocol& kind, std::string_view name,
             const mutex_options& o = {}, std::uint32_t permits = 1);
    stats counters() const { return engine.counters(); }

    static constexpr time_point start{std::chrono::hours{1}};

    const config settings;
    engine::lock_engine engine;

private:
    void begin();
    void end();
    void open();
    void collect();
    void write();
    void feed(const std::string& bytes);
    /// Which connection there should be; 0: none.
    std::uint64_t wanted() const noexcept {
        return place_ < engine.links() ? engine.wanted_connection(place_) : 0;
    }
    operation& add() { return operations_.emplace_back(); }

    const std::size_t place_;
    time_point now_ = start;
    bool in_turn_ = false;
    bool blocked_ = false;
    std::uint64_t connected_ = 0;
    std::size_t writes_ = 0;
    std::vector<command> sent_{};
    std::map<std::string, impl::spec_ptr, std::less<>> specs_{};
    std::deque<operation> operations_{};
};

/// Why this hold was lost; `errc{}` if it wasn't.
inline errc lost(const impl::view_ptr& v) noexcept { return static_cast<errc>(v->lost.load()); }
inline time_point valid_until(const impl::view_ptr& v) noexcept {
    return time_point{duration{v->valid_until.load()}};
}

}  // namespace conch::test

#endif
