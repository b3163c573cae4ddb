// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_LATCHES_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_LATCHES_HPP

#include "integration/token_semaphores.hpp"

#include <chrono>
#include <utility>

// The operations of a latch that stands at four, for the matrix.
namespace conch::test {

struct count_down_operation : asking_permits {
    static constexpr char name[] = "latch_async_count_down";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.starting.async_count_down(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { is_left(s, "3"); }
    static void left(scene& s) { is_left(s, "3"); }
};

struct try_set_count_operation : try_set_operation {
    static constexpr char name[] = "latch_async_try_set_count";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.starting.async_try_set_count(s.permits, std::forward<Token>(token)...);
    }
};

struct count_operation : available_operation {
    static constexpr char name[] = "latch_async_count";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.starting.async_count(std::forward<Token>(token)...);
    }
};

/// Without a count it is open.
struct wait_operation : asking {
    static constexpr char name[] = "latch_async_wait";
    using value = nothing;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.starting.async_wait({.wait = s.options.wait.value_or(forever)},
                                     std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { EXPECT_TRUE(s.h.owns_lock()); }
    static void park(scene& s) { s.raw.must({"SET", "asked", "4"}); }
    static void unpark(scene& s) { s.raw.must({"DEL", "asked"}); }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    static void fail_at_once(scene& s) {
        s.options.wait = std::chrono::seconds{-1};
        s.at_once = errc::invalid_wait;
    }
};

}  // namespace conch::test

#endif
