// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_CLUSTER_ENGINE_HPP
#define CONCH_TEST_UNIT_ENGINE_CLUSTER_ENGINE_HPP

#include "unit/topology/cluster_harness.hpp"
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace conch::test {

/// A lock engine in a cluster, and the hand that plays its nodes. All locks want replicas, one if
/// nothing else is said: of the two connections to each master only theirs is played. Nothing is
/// answered by itself.
struct cluster_engine : testing::Test {
    /// `usual`: what all locks want of replicas. If that is none, the one connection to each master
    /// is played.
    explicit cluster_engine(const replica_options& usual = {.at_least = 1},
                            sharded_messages messages = sharded_messages::off,
                            log_sink warnings = {}, bool looks_for_deadlocks = false);
    ~cluster_engine() override;

    // Time and callers.

    template <typename Inputs>
    void turn(Inputs inputs) {
        if (std::exchange(in_turn_, true)) {
            inputs();
            return;
        }
        engine.begin_turn(now_);
        inputs();
        engine.end_turn();
        collect();
        in_turn_ = false;
    }
    time_point now() const noexcept { return now_; }
    void advance(duration d);
    operation& lock(const std::string& name, const lock_options& how, const replica_options& terms,
                    bool try_only = false);
    operation& lock(const std::string& name, const lock_options& how = {}) {
        return lock(name, how, usual_);
    }
    operation& try_lock(const std::string& name) { return lock(name, {}, usual_, true); }
    operation& unlock(const operation& op);
    operation& wait_lost(const operation& op);
    operation& extend(const operation& op, duration lease);
    operation& leave(const operation& op, duration lease);
    operation& status(const std::string& name, lock_status* result, const status_options& options);
    /// Who cancels is told at once.
    void cancel(operation& op);
    void release(const operation& op) {
        turn([&] { engine.release(*op.view); });
    }
    /// Takes the first lock, at `m1`, and forgets what was sent for it.
    operation& hold(const std::string& name, const lock_options& how = {});
    /// Nobody waits, nothing is held, nothing of it may be at a server, nothing is on its way.
    bool nothing_is_left() const;

    // Nodes. One at another port than the usual one is called "host:port".

    /// A node tells for the first time: `m1` has all parts but the last, which `m2` has.
    void learn(std::string_view owner = "m1", std::string_view other = "m2");
    /// When it is asked again, it tells that these have them.
    void learn_again(std::string_view owner, std::string_view other);
    /// If it is asked just now, it tells the same again; so does the next one, if that is asked.
    void tell_the_same();
    /// Each node that is asked refuses.
    void refuse_to_tell(std::string_view words);
    /// A master accepts, and answers the greeting.
    void connect(std::string_view host, std::string_view run = "1111");
    /// The same for `m2`, where nothing is held, nor on its way.
    void connect_to_m2();
    /// A lock of the part that `m2` has.
    static std::string name_at_m2();
    void break_connection(std::string_view host);
    /// What this master was sent since this was last asked.
    lines sent(std::string_view host) { return written(place_of(host)); }
    /// What it answers has left; inside of `turn`, what that submits has not.
    void reply(std::string_view host, const std::string& bytes);
    bool leads_to(std::string_view host) const;
    /// There is a connection there, or one is being made.
    bool wants(std::string_view host) const { return engine.wanted_connection(find(host)) != 0; }

    const config settings;
    engine::lock_engine engine{settings, "c", 1};
    const protocol::lock_protocol* kind = &protocol::mutex_protocol;  ///< of all locks

private:
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    impl::spec_ptr spec_of(const std::string& name, const replica_options& terms) const;
    std::size_t find(std::string_view host) const;
    std::size_t place_of(std::string_view host) const;
    void collect();
    void accept(std::size_t i, const std::string& answers);
    void read(std::size_t i, const std::string& bytes);
    lines written(std::size_t i);

    bool in_turn_ = false;
    time_point now_{std::chrono::hours{1}};
    std::deque<operation> operations_{};
    const replica_options usual_;
    std::string told_{};            // what the nodes told last
    std::uint64_t asked_node_ = 0;  // the connection to the node that is asked
};

/// The same with locks that want no replicas.
struct plain_cluster_engine : cluster_engine {
    explicit plain_cluster_engine(sharded_messages messages = sharded_messages::off)
        : cluster_engine{{}, messages} {}
};

/// A server sends who asks for this lock on to another one.
inline std::string sends_on(const char* what, std::string_view name, std::string_view host) {
    return error(join(what, " ", wire::hash_slot_of(name), " ", host, ":7000"));
}

}  // namespace conch::test

#endif
