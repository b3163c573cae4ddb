// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_PERMITS_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_PERMITS_HPP

#include "integration/token_locks.hpp"
#include "integration/token_semaphores.hpp"

#include <cstdint>
#include <utility>

// The operations of a semaphore whose permits have leases, for the matrix.
namespace conch::test {

template <typename Derived>
struct acquiring_leased : acquiring<Derived> {
    static constexpr lock_kind kinds[] = {lock_kind::permits};
    static void fail_at_once(scene& s) {
        s.permits = 1001;
        s.at_once = errc::invalid_permits;
    }
};

struct acquire_leased_operation : acquiring_leased<acquire_leased_operation> {
    static constexpr char name[] = "async_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_acquire(s.permits, s.options, std::forward<Token>(token)...);
    }
};

struct try_acquire_leased_operation : acquiring_leased<try_acquire_leased_operation> {
    static constexpr char name[] = "async_try_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        s.options.wait = 60s;
        return s.leased.async_try_acquire(s.permits, s.options, std::forward<Token>(token)...);
    }
};

struct try_set_leased_operation : try_set_operation {
    static constexpr char name[] = "leased_async_try_set_permits";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_try_set_permits(s.permits, std::forward<Token>(token)...);
    }
};

struct set_leased_operation : set_operation {
    static constexpr char name[] = "leased_async_set_permits";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_set_permits(s.permits, std::forward<Token>(token)...);
    }
};

struct add_leased_operation : release_operation {
    static constexpr char name[] = "leased_async_add_permits";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_add_permits(s.permits, std::forward<Token>(token)...);
    }
};

/// Four permits are left, two are out.
struct looking_at_leased : asking_permits {
    using value = std::int64_t;
    static void prepare(scene& s) {
        asking_permits::prepare(s);
        for (const char* id : {"0123456789abcdef", "0123456789abcdeg"}) {
            s.raw.must({"ZADD", "{asked}:timeout", "9000000000000", id});
        }
    }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    static void fail_at_once(scene& s) { available_operation::fail_at_once(s); }
};

struct available_leased_operation : looking_at_leased {
    static constexpr char name[] = "leased_async_available";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_available(std::forward<Token>(token)...);
    }
    static void check(scene&, std::int64_t& got) { EXPECT_EQ(got, 4); }
};

struct acquired_leased_operation : looking_at_leased {
    static constexpr char name[] = "leased_async_acquired";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_acquired(std::forward<Token>(token)...);
    }
    static void check(scene&, std::int64_t& got) { EXPECT_EQ(got, 2); }
};

struct total_leased_operation : looking_at_leased {
    static constexpr char name[] = "leased_async_total";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.leased.async_total(std::forward<Token>(token)...);
    }
    static void check(scene&, std::int64_t& got) { EXPECT_EQ(got, 6); }
};

}  // namespace conch::test

#endif
