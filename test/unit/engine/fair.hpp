// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_FAIR_HPP
#define CONCH_TEST_UNIT_ENGINE_FAIR_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conch::test {

using namespace std::chrono_literals;
using conch::impl::view_ptr;

/// The lines of a fair lock "a", and those of its n-th waiter.
inline const std::string fair_line =
    "a redisson_lock_queue:{a} redisson_lock_timeout:{a} conch_fair_lease:{a}";
inline const std::string fair_fence = " redisson_lock_token:{a}";

/// The n-th waiter's try, the i-th copy of all of them. `place`: how long it keeps its place, in
/// ms.
inline std::string ask_of(int n, int i, const std::string& place = "3000",
                          const std::string& lease = "30000") {
    return "fair_acquire " + fair_line + " c:" + std::to_string(n) + " " + lease + " 0 " + place +
           " " + std::to_string(i);
}
inline std::string fair_end_of(int n) {
    return "fair_release " + fair_line + fair_fence + " c:" + std::to_string(n) +
           " redisson_lock__channel:{a}: publish";
}
inline std::string fair_channel_of(int n) {
    return "redisson_lock__channel:{a}:c:" + std::to_string(n);
}
inline std::string listen_of(int n) { return "SUBSCRIBE " + fair_channel_of(n); }
inline std::string unlisten_of(int n) { return "UNSUBSCRIBE " + fair_channel_of(n); }
inline std::string listening(int n) { return push("subscribe", fair_channel_of(n), integer(1)); }
inline std::string not_listening(int n) {
    return push("unsubscribe", fair_channel_of(n), integer(0));
}
inline std::string told(int n, const std::string& message) {
    return push("message", fair_channel_of(n), bulk(message));
}

class engine_fair : public testing::Test {
protected:
    operation& lock(const lock_options& o = {}) {
        h.use(conch::protocol::fair_protocol, "a");
        return h.lock("a", o);
    }
    /// Connects, and is answered "busy" twice, once before it listens: in line, with nothing on its
    /// way.
    operation& first_waiter(const lock_options& o = {}) {
        operation& op = lock(o);
        h.connect();
        h.reply(busy(9000));
        h.reply(listening(1), busy(9000));
        h.sent();
        EXPECT_FALSE(op.done());
        return op;
    }
    /// The same for the n-th, which knows that others want the lock.
    operation& next_waiter(int n, const lock_options& o = {}) {
        operation& op = lock(o);
        h.reply(listening(n), busy(9000));
        h.sent();
        EXPECT_FALSE(op.done());
        return op;
    }
    /// Holds the lock, with nothing on its way.
    view_ptr holder(const lock_options& o = {}) {
        operation& op = lock(o);
        h.connect();
        h.reply(granted());
        h.sent();
        EXPECT_TRUE(op.granted());
        return op.view;
    }

    engine_harness h{};
};

}  // namespace conch::test

#endif
