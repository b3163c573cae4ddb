// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_MATRIX_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_MATRIX_HPP

#include "integration/token_latches.hpp"
#include "integration/token_scene.hpp"
#include "integration/token_semaphores.hpp"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace conch::test {

// One struct for each public operation. `value`: what its handler gets after the code. `start`:
// with a token, or with none for the default. `prepare`: then it succeeds, and `check` sees that.
// `park`: then it doesn't end by itself. `left`: what is on the server once a parked and cancelled
// one is over and the server is `unpark`ed. `fail_at_once`: then its answer is known at once.

template <typename Derived>
struct acquiring {
    using value = hold;
    static void prepare(scene&) {}
    static void check(scene& s, hold& got) {
        EXPECT_TRUE(got.owns_lock());
        EXPECT_TRUE(s.raw.exists("asked"));
    }
    static void park(scene& s) {
        s.options.lease = 150ms;
        take_as_stranger(s.raw, "asked");
    }
    static void unpark(scene& s) { redisson_release(s.raw, "asked"); }
    static void left(scene& s) {
        s.expect([&] { return s.c.stats().slots_now == 1; }, "nothing of it is left in the client");
        EXPECT_FALSE(s.raw.exists("asked"));
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

struct status_operation : asking {
    static constexpr char name[] = "async_status";
    using value = lock_status;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.m.async_status(std::forward<Token>(token)...);
    }
    static void prepare(scene& s) { take_as_stranger(s.raw, "asked"); }
    static void check(scene&, lock_status& got) {
        EXPECT_TRUE(got.locked);
        EXPECT_TRUE(got.holder.ends_with(":1"));
    }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    static void fail_at_once(scene& s);
};

struct force_unlock_operation : asking {
    static constexpr char name[] = "async_force_unlock";
    using value = bool;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.m.async_force_unlock(std::forward<Token>(token)...);
    }
    static void prepare(scene& s) { take_as_stranger(s.raw, "asked"); }
    static void check(scene& s, bool& got) {
        EXPECT_TRUE(got);
        EXPECT_FALSE(s.raw.exists("asked"));
    }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    static void fail_at_once(scene& s) { status_operation::fail_at_once(s); }
};

/// Those of a hold.
struct of_hold : asking {
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
        EXPECT_FALSE(s.raw.exists("held"));
    }
    static void left(scene& s) {
        s.expect([&] { return !s.raw.exists("held"); }, "the release goes on");
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
    static void check(scene& s, nothing&) { EXPECT_GT(s.raw.pttl("held"), 300'000); }
    static void left(scene& s) {
        EXPECT_TRUE(s.h.owns_lock());
        EXPECT_GT(s.raw.pttl("held"), 10'000) << "never shortened";
    }
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
        EXPECT_EQ(s.raw.hlen("held"), 1);
    }
};

struct wait_lost_before_operation : wait_lost_operation {
    static constexpr char name[] = "async_wait_lost_before";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.h.async_wait_lost(1s, std::forward<Token>(token)...);
    }
};

struct shutdown_operation : asking {
    static constexpr char name[] = "async_shutdown";
    using value = nothing;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.c.async_shutdown(std::forward<Token>(token)...);
    }
    static void check(scene& s, nothing&) {
        EXPECT_FALSE(s.raw.exists("held"));
        EXPECT_EQ(s.h.lost_reason(), errc::client_closed);
    }
    static void left(scene& s) {
        s.expect([&] { return !s.raw.exists("held"); }, "the shutdown goes on");
        s.expect([&] { return s.raw.connections("conch").empty(); }, "and ends");
    }
    static void fail_at_once(scene& s) {
        status_operation::fail_at_once(s);
        s.at_once = {};  // it is shut down already
    }
};

struct drain_operation : shutdown_operation {
    static constexpr char name[] = "async_shutdown_drain";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.c.async_shutdown({.drain = 60s}, std::forward<Token>(token)...);
    }
    static void prepare(scene& s) { s.h.release(); }
    static void check(scene& s, nothing&) { EXPECT_FALSE(s.raw.exists("held")); }
    static void left(scene& s) {
        EXPECT_TRUE(s.h.owns_lock()) << "the drain goes on";
        s.h.release();
        shutdown_operation::left(s);
    }
};

struct try_acquire_operation : asking {
    static constexpr char name[] = "async_try_acquire";
    using value = rate_verdict;
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.calls.async_try_acquire(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, rate_verdict& got) {
        EXPECT_TRUE(got.allowed);
        EXPECT_EQ(s.raw.must({"GET", "asked"}).text, "1");
    }
    static void left(scene& s) { EXPECT_TRUE(s.h.owns_lock()); }
    static void fail_at_once(scene& s) {
        s.permits = 2;  // above the limit
        s.at_once = errc::invalid_permits;
    }
};

struct acquire_operation : try_acquire_operation {
    static constexpr char name[] = "async_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.calls.async_acquire(s.permits, {}, std::forward<Token>(token)...);
    }
    static void park(scene& s) { s.raw.must({"SET", "asked", "1", "PX", "60000"}); }
    static void unpark(scene& s) { s.raw.must({"DEL", "asked"}); }
    static void left(scene& s) {
        EXPECT_FALSE(s.raw.exists("asked"));
        EXPECT_TRUE(s.h.owns_lock());
    }
};

/// A new operation gets its struct, and its name here.
using all_operations =
    std::tuple<lock_operation, try_lock_operation, status_operation, force_unlock_operation,
               unlock_operation, extend_operation, wait_lost_operation, wait_lost_before_operation,
               shutdown_operation, drain_operation, try_acquire_operation, acquire_operation,
               acquire_permits_operation, try_acquire_permits_operation, release_operation,
               add_operation, set_operation, try_set_operation, drain_permits_operation,
               count_down_operation, try_set_count_operation, wait_operation>;

template <typename Operation>
using outcome_of = outcome<typename Operation::value>;

/// Whether the client can be used when the operation is over.
template <typename Operation>
inline constexpr bool ends_client = std::is_base_of_v<shutdown_operation, Operation>;

/// One cell: an operation under a token.
struct matrix_cell {
    std::string name{};
    void (*play)(scene&) = nullptr;
};

void PrintTo(const matrix_cell& cell, std::ostream* out);
std::string name_of_cell(const ::testing::TestParamInfo<matrix_cell>& which);

class token_matrix : public redis_test, public ::testing::WithParamInterface<matrix_cell> {};

/// A column: `Play<Operation>::play(scene&)` for each operation.
template <template <typename> typename Play>
std::vector<matrix_cell> column(const std::string& token) {
    std::vector<matrix_cell> cells;
    [&]<typename... Operation>(std::type_identity<std::tuple<Operation...>>) {
        (cells.push_back({Operation::name + ("_" + token), &Play<Operation>::play}), ...);
    }(std::type_identity<all_operations>{});
    return cells;
}

template <typename... Column>
std::vector<matrix_cell> columns(Column... more) {
    std::vector<matrix_cell> all;
    (all.insert(all.end(), more.begin(), more.end()), ...);
    return all;
}

}  // namespace conch::test

#endif
