// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_REPLICAS_FIXTURE_HPP
#define CONCH_TEST_UNIT_ENGINE_REPLICAS_FIXTURE_HPP

#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace conch::test {

inline constexpr std::size_t lone_main_link = 0;
inline constexpr std::size_t lone_durable_link = 1;
inline constexpr mutex_options one_replica{.replicas = {.at_least = 1}};
inline constexpr mutex_options two_replicas{
    .replicas = {.at_least = 2, .within = std::chrono::milliseconds{50}}};
inline const std::string wait_one = "WAIT 1 100";
inline const std::string wait_two = "WAIT 2 50";

/// "a" and "b" want one replica; the hand plays the server on the connection of such locks.
struct replicas_fixture : testing::Test {
    replicas_fixture() {
        use("a", one_replica);
        use("b", one_replica);
    }

    void use(std::string_view name, const mutex_options& o) {
        h.use(conch::protocol::mutex_protocol, name, o);
    }
    impl::view_ptr hold(std::string_view name, const lock_options& o = {}) {
        operation& op = h.lock(name, o);
        if (h.counters().connects == 0) {
            h.connect();
        }
        h.sent();
        h.reply(granted("7"), integer(1));
        EXPECT_TRUE(op.granted());
        return op.view;
    }

    static config passing() {
        config c = quiet();
        c.max_pass_time = std::chrono::hours{1};
        return c;
    }

    engine_harness h{passing(), 1, lone_durable_link};
};

}  // namespace conch::test

#endif
