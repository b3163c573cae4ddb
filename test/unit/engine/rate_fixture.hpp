// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_ENGINE_RATE_FIXTURE_HPP
#define CONCH_TEST_UNIT_ENGINE_RATE_FIXTURE_HPP

#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace conch::test {

/// What the server counted.
inline std::string counted(int granted, int count, int retry_ms, int reset_ms) {
    return array(integer(granted), integer(count), integer(retry_ms), integer(reset_ms));
}

struct engine_rate : testing::Test {
    engine_rate() { open(h); }

    static void open(engine_harness& h) {
        h.release(h.grant("warm"));
        h.reply(integer(0));
        h.sent();
    }

    static impl::rate_spec_ptr limit_of(std::uint64_t limit,
                                        duration window = std::chrono::minutes{1}) {
        return new impl::rate_spec{"r", {limit, window}, rate_algorithm::sliding_log};
    }

    /// A waiter that was refused, and what is said about it.
    operation& refused(std::uint64_t n, int retry_ms, duration wait = forever) {
        operation& op = h.permits(five, n, wait);
        EXPECT_EQ(h.sent().size(), 1u);
        h.reply(counted(0, 5, retry_ms, 60'000));
        return op;
    }

    impl::rate_spec_ptr five = limit_of(5);
    engine_harness h{};
};

}  // namespace conch::test

#endif
