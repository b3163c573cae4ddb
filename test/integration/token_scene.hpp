// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_SCENE_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_SCENE_HPP

#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <conch/counting_semaphore.hpp>
#include <conch/latch.hpp>
#include <conch/rate_limiter.hpp>

#include <cstdint>
#include <utility>

namespace conch::test {

/// What every operation of the matrix works on: a client that has taken "held", and a free "asked".
struct scene {
    scene(asio::io_context& context, raw_client& r, const config& settings);

    /// Another operation of the client succeeds.
    void expect_usable();
    /// Runs until `condition()`; the test fails if it doesn't come true.
    template <typename Condition>
    void expect(Condition condition, const char* what) {
        EXPECT_TRUE(run_until(io, condition)) << what;
    }

    asio::io_context& io;
    raw_client& raw;
    client c;
    mutex m;
    rate_limiter calls{c, "asked", {.limit = 1, .window = 60s}, rate_algorithm::fixed_window};
    counting_semaphore semaphore{c, "asked"};
    latch starting{c, "asked"};
    std::uint64_t permits = 1;
    lock_options options{};
    hold h{};
    error_code at_once{};  ///< what `fail_at_once` leads to
};

/// How often a handler was called, and with what.
template <typename Value>
struct outcome {
    int calls = 0;
    error_code ec{};
    Value value{};

    void operator()(error_code e) { (*this)(e, Value{}); }
    void operator()(error_code e, Value v) {
        ++calls;
        ec = e;
        value = std::move(v);
    }
};

/// Those that end in one script, which waits in the server while that is paused.
struct asking {
    static void prepare(scene&) {}
    static void park(scene& s) { s.raw.pause_writes(60s); }
    static void unpark(scene& s) { s.raw.unpause(); }
};

}  // namespace conch::test

#endif
