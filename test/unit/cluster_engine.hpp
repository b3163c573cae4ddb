// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_CLUSTER_ENGINE_HPP
#define CONCH_TEST_UNIT_CLUSTER_ENGINE_HPP

#include "unit/cluster_harness.hpp"
#include "unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace conch::test {

/// A lock engine in a cluster, and the hand that plays its nodes. All locks want replicas, one if
/// nothing else is said: of the two connections to each master only theirs is played. Nothing is
/// answered by itself.
struct cluster_engine : testing::Test {
    cluster_engine();
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
    void advance(duration d);
    operation& lock(const std::string& name, const lock_options& how = {},
                    const replica_options& terms = {.at_least = 1});
    void release(const operation& op) {
        turn([&] { engine.release(*op.view); });
    }
    /// Takes the first lock, at `m1`, and forgets what was sent for it.
    operation& hold(const std::string& name, const lock_options& how = {});

    // Nodes.

    /// A node tells for the first time: `m1` has all parts but the last, which `m2` has.
    void learn();
    /// When it is asked again, it tells that these have them.
    void learn_again(std::string_view owner, std::string_view other);
    /// Each node that is asked refuses.
    void refuse_to_tell(std::string_view words);
    /// A master accepts, and answers the greeting.
    void connect(std::string_view host, std::string_view run = "1111");
    /// The same for `m2`, where nothing is held, nor on its way.
    void connect_to_m2();
    void break_connection(std::string_view host);
    /// What this master was sent since this was last asked.
    lines sent(std::string_view host) { return written(place_of(host)); }
    /// What it answers has left; inside of `turn`, what that submits has not.
    void reply(std::string_view host, const std::string& bytes);
    bool leads_to(std::string_view host) const;

    const config settings;
    engine::lock_engine engine{settings, "c", 1};

private:
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    std::size_t find(std::string_view host) const;
    std::size_t place_of(std::string_view host) const;
    void collect();
    void accept(std::size_t i, const std::string& answers);
    void read(std::size_t i, const std::string& bytes);
    lines written(std::size_t i);

    bool in_turn_ = false;
    time_point now_{std::chrono::hours{1}};
    std::deque<operation> operations_{};
};

}  // namespace conch::test

#endif
