// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_LOCKS_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_LOCKS_HPP

#include "integration/token_scene.hpp"

#include <utility>

// The operations of locks of each kind, and of their holds, for the matrix.
namespace conch::test {

inline constexpr lock_kind all_kinds[] = {lock_kind::plain,   lock_kind::fair,   lock_kind::several,
                                          lock_kind::permits, lock_kind::writer, lock_kind::reader,
                                          lock_kind::token};

template <typename Derived>
struct acquiring {
    static constexpr auto& kinds = all_kinds;
    using value = hold;
    static void prepare(scene&) {}
    static void check(scene& s, hold& got) {
        EXPECT_TRUE(got.owns_lock());
        EXPECT_GT(s.lease_left("asked"), 0);
    }
    static void park(scene& s) {
        s.options.lease = 150ms;
        s.take_asked();
    }
    static void unpark(scene& s) { s.give_back_asked(); }
    static void left(scene& s) {
        s.expect([&] { return s.c.stats().slots_now == s.slots; },
                 "nothing of it is left in the client");
        EXPECT_TRUE(s.free("asked"));
        s.raw.reset_calls();
        EXPECT_TRUE(lease_passes(s.io, s.raw, 150ms));
        EXPECT_EQ(s.raw.calls("evalsha"), 0u) << "it is renewed, or asked for";
        EXPECT_TRUE(s.h.owns_lock());
    }
};

struct lock_operation : acquiring<lock_operation> {
    static constexpr char name[] = "async_lock";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.m.async_lock(s.options, std::forward<Token>(token)...);
    }
    static void fail_at_once(scene& s) {
        s.options.wait = -1s;
        s.at_once = errc::invalid_wait;
    }
};

struct try_lock_operation : acquiring<try_lock_operation> {
    static constexpr char name[] = "async_try_lock";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        s.options.wait = 60s;
        return s.m.async_try_lock(s.options, std::forward<Token>(token)...);
    }
    static void fail_at_once(scene& s) {
        s.options.lease = 1ms;
        s.at_once = errc::invalid_lease;
    }
};

/// Takes no token itself: what it gives is launched with it.
struct lock_all_operation : acquiring<lock_all_operation> {
    static constexpr lock_kind kinds[] = {lock_kind::several};
    static constexpr char name[] = "async_lock_all";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        auto later = async_lock_all(s.options, s.alone, s.beside);
        if constexpr (sizeof...(Token) == 0) {
            return later;
        } else {
            return std::move(later)(std::forward<Token>(token)...);
        }
    }
    static void check(scene& s, hold& got) {
        acquiring::check(s, got);
        EXPECT_TRUE(s.raw.exists("asked") && s.raw.exists("asked-too"));
    }
    static void fail_at_once(scene& s) { lock_operation::fail_at_once(s); }
};

/// For reading: a writer is the stranger that keeps it waiting.
struct lock_shared_operation : acquiring<lock_shared_operation> {
    static constexpr lock_kind kinds[] = {lock_kind::writer};
    static constexpr char name[] = "async_lock_shared";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.shared.async_lock_shared(s.options, std::forward<Token>(token)...);
    }
    static void check(scene& s, hold& got) {
        acquiring::check(s, got);
        EXPECT_EQ(s.raw.hgetall("asked").at("mode"), "read");
    }
    static void fail_at_once(scene& s) { lock_operation::fail_at_once(s); }
};

struct try_lock_shared_operation : lock_shared_operation {
    static constexpr char name[] = "async_try_lock_shared";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        s.options.wait = 60s;
        return s.shared.async_try_lock_shared(s.options, std::forward<Token>(token)...);
    }
    static void fail_at_once(scene& s) { try_lock_operation::fail_at_once(s); }
};

/// Of a lock that a stranger holds.
struct asking_of_lock : asking {
    static constexpr auto& kinds = all_kinds;
    static void prepare(scene& s) { s.hold_asked(); }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    /// The client is shut down.
    static void fail_at_once(scene& s);
};

struct status_operation : asking_of_lock {
    static constexpr char name[] = "async_status";
    using value = lock_status;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.m.async_status(std::forward<Token>(token)...);
    }
    static void check(scene& s, lock_status& got) {
        EXPECT_TRUE(got.locked);
        EXPECT_EQ(got.holder, s.holder());
        EXPECT_EQ(got.shared, s.kind == lock_kind::reader);
    }
};

struct force_unlock_operation : asking_of_lock {
    static constexpr char name[] = "async_force_unlock";
    using value = bool;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.m.async_force_unlock(std::forward<Token>(token)...);
    }
    static void check(scene& s, bool& got) {
        EXPECT_TRUE(got);
        EXPECT_TRUE(s.free("asked"));
    }
};

/// Those of a hold.
struct of_hold : asking {
    static constexpr auto& kinds = all_kinds;
    using value = nothing;
    static void fail_at_once(scene& s) {
        s.h = hold{};
        s.at_once = errc::not_owner;
    }
};

struct unlock_operation : of_hold {
    static constexpr char name[] = "async_unlock";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_unlock(std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) {
        EXPECT_FALSE(s.h);
        EXPECT_TRUE(s.free("held"));
    }
    static void left(scene& s) {
        s.expect([&] { return s.free("held"); }, "the release goes on");
        s.expect([&] { return s.c.stats().slots_now == 0; }, "and ends");
        EXPECT_FALSE(s.h);
    }
};

struct extend_operation : of_hold {
    static constexpr char name[] = "async_extend";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_extend(600s, std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) { EXPECT_GT(s.lease_left("held"), 300'000); }
    static void left(scene& s) {
        EXPECT_TRUE(s.h.owns_lock());
        EXPECT_GT(s.lease_left("held"), 10'000) << "never shortened";
    }
};

struct downgrade_operation : of_hold {
    static constexpr lock_kind kinds[] = {lock_kind::writer};
    static constexpr char name[] = "async_downgrade";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_downgrade(std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) {
        EXPECT_EQ(s.raw.hgetall("held").at("mode"), "read");
        EXPECT_TRUE(s.h.owns_lock());
    }
    /// A writer's or a reader's: who repeats it knows.
    static void left(scene& s);
};

struct wait_lost_operation : of_hold {
    static constexpr char name[] = "async_wait_lost";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_wait_lost(std::forward<Token>(token)...);
    }
    static void prepare(scene& s) { s.h.release(); }
    static void check(scene& s, nothing&) { EXPECT_FALSE(s.h.lost_reason()); }
    static void park(scene&) {}
    static void unpark(scene&) {}
    static void left(scene& s) {
        EXPECT_TRUE(s.h.owns_lock());
        EXPECT_GT(s.lease_left("held"), 0);
    }
};

struct wait_lost_before_operation : wait_lost_operation {
    static constexpr char name[] = "async_wait_lost_before";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_wait_lost(1s, std::forward<Token>(token)...);
    }
};

}  // namespace conch::test

#endif
