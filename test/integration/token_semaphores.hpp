// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_SEMAPHORES_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_SEMAPHORES_HPP

#include "integration/token_scene.hpp"

#include <cstdint>
#include <string>
#include <utility>

// The operations of a counting semaphore, for the matrix.
namespace conch::test {

/// What is asked of one permit of four.
struct asking_permits : asking {
    using value = nothing;
    static void prepare(scene& s) { s.raw.must({"SET", "asked", "4"}); }
    static void park(scene& s) {
        prepare(s);
        asking::park(s);
    }
    static void is_left(scene& s, const std::string& permits) {
        s.expect([&] { return s.raw.get("asked") == permits; }, "as many permits as should be");
        EXPECT_TRUE(s.h.owns_lock());
    }
    static void fail_at_once(scene& s) {
        s.permits = std::uint64_t{1} << 31;
        s.at_once = errc::invalid_permits;
    }
};

struct acquire_permits_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_acquire(s.permits, {}, std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { is_left(s, "3"); }
    static void left(scene& s) { is_left(s, "4"); }
};

struct try_acquire_permits_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_try_acquire";
    using value = bool;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_try_acquire(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, bool& got) {
        EXPECT_TRUE(got);
        is_left(s, "3");
    }
    static void left(scene& s) { is_left(s, "4"); }
};

struct release_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_release";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_release(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { is_left(s, "5"); }
    static void left(scene& s) { is_left(s, "5"); }
};

struct add_operation : release_operation {
    static constexpr char name[] = "semaphore_async_add";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_add(s.permits, std::forward<Token>(token)...);
    }
};

struct set_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_set";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_set(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { is_left(s, "1"); }
    /// It may still take effect.
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
};

struct try_set_operation : set_operation {
    static constexpr char name[] = "semaphore_async_try_set";
    using value = bool;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_try_set(s.permits, std::forward<Token>(token)...);
    }
    static void prepare(scene&) {}
    static void check(scene& s, bool& got) {
        EXPECT_TRUE(got);
        is_left(s, "1");
    }
};

struct drain_permits_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_drain";
    using value = std::int64_t;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_drain(std::forward<Token>(token)...);
    }
    static void check(scene& s, std::int64_t& got) {
        EXPECT_EQ(got, 4);
        is_left(s, "0");
    }
    static void left(scene& s) { is_left(s, "4"); }
    static void fail_at_once(scene& s);
};

/// A plain read waits in no paused server, but behind a script of its connection that does.
struct available_operation : asking_permits {
    static constexpr char name[] = "semaphore_async_available";
    using value = std::int64_t;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.counter.async_available(std::forward<Token>(token)...);
    }
    static void check(scene& s, std::int64_t& got) {
        EXPECT_EQ(got, 4);
        is_left(s, "4");
    }
    static void park(scene& s) {
        asking_permits::park(s);
        s.before = start_lock(mutex{s.c, "before"});
    }
    static void left(scene& s) { is_left(s, "4"); }
    static void fail_at_once(scene& s);
};

}  // namespace conch::test

#endif
