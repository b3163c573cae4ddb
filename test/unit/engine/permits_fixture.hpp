// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_PERMITS_FIXTURE_HPP
#define CONCH_TEST_UNIT_ENGINE_PERMITS_FIXTURE_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace conch::test {

/// Permits with leases of the semaphore "a".
class engine_permits : public testing::Test {
protected:
    static inline const std::string keys = "a {a}:timeout ";
    static inline const std::string channel = "redisson_sc:{a}";

    /// What the ids of the n-th acquisition of the client "c" begin with.
    static std::string start_of(int n) {
        return std::string{"\x0c"} + std::string(12, '\0') + static_cast<char>(n);
    }
    static std::string take_of(int n, int permits) {
        return "permits_acquire " + keys + start_of(n) + " " + std::to_string(permits) + " 30000 " +
               channel + " publish";
    }
    /// Asks behind the acquisition `front`.
    static std::string take_behind(int front, int n, int permits) {
        return take_of(n, permits) + " " + start_of(front);
    }
    static std::string give_of(int n, int permits) {
        return "permits_release " + keys + channel + " publish " + start_of(n) + " " +
               std::to_string(permits);
    }
    static std::string renew_of_permits(int n, int permits) {
        return start_of(n) + " " + std::to_string(permits) + " 30000";
    }

    operation& take(std::uint32_t permits, const lock_options& o = {}) {
        h.use(protocol::permits_protocol, "a", {}, permits);
        return h.lock("a", o);
    }
    operation& try_take(std::uint32_t permits) {
        h.use(protocol::permits_protocol, "a", {}, permits);
        return h.try_lock("a");
    }
    /// Held, with nothing on its way.
    impl::view_ptr held(std::uint32_t permits) {
        operation& op = take(permits);
        h.connect();
        h.sent();
        h.reply(granted);
        EXPECT_TRUE(op.granted());
        return op.view;
    }
    /// Somebody waits in front, and listens.
    operation& waiting(std::uint32_t permits, int first) {
        operation& op = take(permits);
        h.sent();
        h.reply(busy);
        EXPECT_EQ(h.sent(),
                  (lines{"SUBSCRIBE " + channel, take_of(first + 1, static_cast<int>(permits))}));
        h.reply(subscribed, busy);
        return op;
    }

    // What the server says.
    const std::string granted = bulk("");
    const std::string busy = integer(20'000);
    const std::string another_first = integer(-2);
    const std::string subscribed = push("subscribe", channel, integer(1));
    const std::string message = push("message", channel, bulk("1"));

    engine_harness h{};
};

}  // namespace conch::test

#endif
