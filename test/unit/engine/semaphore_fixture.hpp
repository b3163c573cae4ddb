// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_SEMAPHORE_FIXTURE_HPP
#define CONCH_TEST_UNIT_ENGINE_SEMAPHORE_FIXTURE_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conch::test {

inline const std::string permits_channel = "redisson_sc:{s}";
inline const std::string latch_channel = "redisson_countdownlatch__channel__{l}";

/// The client's words, for its n-th request.
inline std::string take_of(int n, const std::string& permits, const char* how = "take") {
    return join("semaphore_acquire s conch_once:{s}:c:", n, " 60000 ", how, " ", permits);
}
inline std::string change_of(int n, const char* what, int permits) {
    return join("semaphore_change s conch_once:{s}:c:", n, " 60000 ", permits_channel, " publish ",
                what, " ", permits);
}
inline std::string latch_change_of(int n, const char* what, int count) {
    return join("semaphore_change l conch_once:{l}:c:", n, " 60000 ", latch_channel, " publish ",
                what, " ", count);
}
/// The server's words.
inline std::string permits_told(int left) {
    return push("message", permits_channel, bulk(join(left)));
}
inline std::string latch_told(int how) { return push("message", latch_channel, bulk(join(how))); }
inline std::string changed(int done, int before) { return array(integer(done), integer(before)); }

struct engine_semaphore : testing::Test {
    using kind = lock::counter_change::kind;

    engine_semaphore() {
        h.release(h.grant("warm"));
        h.reply(integer(0));
        h.sent();
    }

    /// The first waiter, refused on a connection that listens.
    operation& refused(std::int64_t n, duration wait = forever) {
        operation& op = h.take(s, n, wait);
        h.reply(integer(0));
        h.reply(push("subscribe", permits_channel, integer(1)), integer(0));
        h.sent();
        return op;
    }

    impl::count_spec_ptr s = new impl::count_spec{impl::count_spec::kind::semaphore, "s", false};
    engine_harness h{};
};

}  // namespace conch::test

#endif
