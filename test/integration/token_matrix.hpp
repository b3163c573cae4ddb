// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_MATRIX_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_MATRIX_HPP

#include "integration/token_latches.hpp"
#include "integration/token_locks.hpp"
#include "integration/token_permits.hpp"
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

// One struct for each public operation. `kinds`: of the locks that it is asked of. `value`: what
// its handler gets after the code. `start`: with a token, or with none for the default. `prepare`:
// then it succeeds, and `check` sees that. `park`: then it doesn't end by itself. `left`: what is
// on the server once a parked and cancelled one is over and the server is `unpark`ed.
// `fail_at_once`: then its answer is known at once.

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
        asking_of_lock::fail_at_once(s);
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

/// The same of the kind `gcra`, whose key is another.
struct try_acquire_paced_operation : try_acquire_operation {
    static constexpr char name[] = "gcra_async_try_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.paced.async_try_acquire(s.permits, std::forward<Token>(token)...);
    }
    static void check(scene& s, rate_verdict& got) {
        EXPECT_TRUE(got.allowed);
        EXPECT_EQ(got.remaining, 0u);
        EXPECT_TRUE(s.raw.get("asked").value_or("").ends_with(":1:60000:1"));
    }
};

struct acquire_paced_operation : acquire_operation {
    static constexpr char name[] = "gcra_async_acquire";
    template <typename... Token>
    static auto start(scene& s, Token&&... token) {
        return s.paced.async_acquire(s.permits, {}, std::forward<Token>(token)...);
    }
    static void check(scene& s, rate_verdict& got) { try_acquire_paced_operation::check(s, got); }
    static void park(scene& s) {
        const std::string in_a_minute =
            std::to_string(std::stoll(s.raw.must({"TIME"}).items.at(0).text) + 60) + "000000";
        s.raw.must({"SET", "asked", in_a_minute + ":0:1:60000:1", "PX", "60000"});
    }
};

/// A new operation gets its struct, and its name here.
using all_operations =
    std::tuple<lock_operation, try_lock_operation, lock_all_operation, lock_shared_operation,
               try_lock_shared_operation, status_operation, force_unlock_operation,
               unlock_operation, extend_operation, downgrade_operation, wait_lost_operation,
               wait_lost_before_operation, shutdown_operation, drain_operation,
               try_acquire_operation, acquire_operation, try_acquire_paced_operation,
               acquire_paced_operation, acquire_permits_operation, try_acquire_permits_operation,
               release_operation, add_operation, set_operation, try_set_operation,
               drain_permits_operation, available_operation, count_down_operation,
               try_set_count_operation, count_operation, wait_operation, acquire_leased_operation,
               try_acquire_leased_operation, try_set_leased_operation, set_leased_operation,
               add_leased_operation, available_leased_operation, acquired_leased_operation,
               total_leased_operation>;

template <typename Operation>
using outcome_of = outcome<typename Operation::value>;
template <typename Operation>
using noting_of = noting<typename Operation::value>;

/// Whether the client can be used when the operation is over.
template <typename Operation>
inline constexpr bool ends_client = std::is_base_of_v<shutdown_operation, Operation>;

/// One cell: an operation under a token.
struct matrix_cell {
    std::string name{};
    void (*play)(scene&) = nullptr;
    lock_kind kind = lock_kind::plain;
};

/// What the names of cells begin with.
std::string prefix_of(lock_kind kind);
void PrintTo(const matrix_cell& cell, std::ostream* out);
std::string name_of_cell(const ::testing::TestParamInfo<matrix_cell>& which);

class token_matrix : public redis_test, public ::testing::WithParamInterface<matrix_cell> {};

/// A column: `Play<Operation>::play(scene&)` for each operation.
template <template <typename> typename Play>
std::vector<matrix_cell> column(const std::string& token) {
    std::vector<matrix_cell> cells;
    [&]<typename... Operation>(std::type_identity<std::tuple<Operation...>>) {
        const auto add = [&](const auto& kinds, const std::string& name, auto play) {
            for (const lock_kind kind : kinds) {
                cells.push_back({prefix_of(kind) + name + '_' + token, play, kind});
            }
        };
        (add(Operation::kinds, Operation::name, &Play<Operation>::play), ...);
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
