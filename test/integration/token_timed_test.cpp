// SPDX-License-Identifier: BSL-1.0
// The columns of the token matrix for `asio::cancel_after` and `asio::cancel_at`, which Boost has
// from 1.86 on; and the same of what is no row there.
#include <boost/version.hpp>

#if BOOST_VERSION >= 108600

#include "integration/quorum_fixture.hpp"
#include "integration/token_matrix.hpp"

#include <conch/guarded.hpp>
#include <conch/with_lock.hpp>

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <future>

namespace conch::test {
namespace {

constexpr auto long_enough = patience * 2;

template <typename Operation>
struct in_time_for_cancel_after {
    static asio::awaitable<void> body(scene& s, outcome_of<Operation>& o) {
        if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            co_await Operation::start(s, asio::cancel_after(long_enough, asio::use_awaitable));
        } else {
            o.value =
                co_await Operation::start(s, asio::cancel_after(long_enough, asio::use_awaitable));
        }
    }
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        run_test(s.io, body(s, o));
        Operation::check(s, o.value);
    }
};

template <typename Operation>
struct in_time_for_cancel_at {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        Operation::start(s, asio::cancel_at(std::chrono::steady_clock::now() + long_enough,
                                            noting_of<Operation>{&o}));
        s.expect([&] { return o.calls != 0; }, "the handler runs");
        EXPECT_FALSE(o.ec) << o.ec.message();
        Operation::check(s, o.value);
    }
};

/// The time is over before the operation is: its caller is told so, and then it may go on.
template <typename Operation>
void expect_cancelled(scene& s, const error_code& ec) {
    EXPECT_EQ(ec, asio::error::operation_aborted) << ec.message();
    Operation::unpark(s);
    Operation::left(s);
    if constexpr (!ends_client<Operation>) {
        s.expect_usable();
    }
}

template <typename Operation>
struct too_late_for_cancel_after {
    static asio::awaitable<void> body(scene& s, error_code& thrown) {
        try {
            // Without a token of its own it is for the default one, `deferred`.
            static_cast<void>(co_await Operation::start(s, asio::cancel_after(20ms)));
        } catch (const system_error& e) {
            thrown = e.code();
        }
    }
    static void play(scene& s) {
        error_code thrown;
        Operation::park(s);
        run_test(s.io, body(s, thrown));
        expect_cancelled<Operation>(s, thrown);
    }
};

template <typename Operation>
struct too_late_for_cancel_at {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::park(s);
        Operation::start(
            s, asio::cancel_at(std::chrono::steady_clock::now() + 20ms, noting_of<Operation>{&o}));
        s.expect([&] { return o.calls != 0; }, "the handler runs");
        expect_cancelled<Operation>(s, o.ec);
        EXPECT_EQ(o.calls, 1);
    }
};

INSTANTIATE_TEST_SUITE_P(
    timed, token_matrix,
    ::testing::ValuesIn(columns(column<in_time_for_cancel_after>("in_time_for_cancel_after"),
                                column<in_time_for_cancel_at>("in_time_for_cancel_at"),
                                column<too_late_for_cancel_after>("too_late_for_cancel_after"),
                                column<too_late_for_cancel_at>("too_late_for_cancel_at"))),
    name_of_cell);

class timed_section_test : public redis_test {
protected:
    /// Awaits a section that can't have its lock, for a while.
    template <typename T>
    error_code cancelled(asio::awaitable<T> section) {
        error_code thrown;
        const auto body = [&]() -> asio::awaitable<void> {
            try {
                co_await asio::co_spawn(io, std::move(section),
                                        asio::cancel_after(20ms, asio::use_awaitable));
            } catch (const system_error& e) {
                thrown = e.code();
            }
        };
        run(body);
        return thrown;
    }

    client c{io, settings()};
    mutex m{c, "lock"};
    bool called = false;
};

TEST_F(timed_section_test, with_lock_gives_up_when_its_time_is_over) {
    take_as_stranger(raw, "lock");
    auto body = [this]() -> asio::awaitable<void> {
        called = true;
        co_return;
    };
    EXPECT_EQ(cancelled(with_lock(m, body)), asio::error::operation_aborted);
    EXPECT_FALSE(called);
}

TEST_F(timed_section_test, a_guarded_function_gives_up_when_its_time_is_over) {
    take_as_stranger(raw, "lock");
    const auto function = guarded(
        c, "lock",
        [this]() -> asio::awaitable<void> {
            called = true;
            co_return;
        },
        {.wait = long_enough});
    EXPECT_EQ(cancelled(function()), asio::error::operation_aborted);
    EXPECT_FALSE(called);
}

class timed_quorum_test : public quorum_test {
protected:
    timed_quorum_test() : quorum_test{3} {}
};

TEST_F(timed_quorum_test, what_is_asked_of_many_servers_takes_a_time_as_well) {
    contender c{io, servers};
    const quorum_mutex m = c.lock("lock", 2 * patience);
    const auto body = [&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock({}, asio::cancel_after(long_enough, asio::use_awaitable));
        EXPECT_TRUE(h.owns_lock());
        try {
            (void)co_await m.async_lock({}, asio::cancel_after(20ms));
            ADD_FAILURE() << "locked twice";
        } catch (const system_error& e) {
            EXPECT_EQ(e.code(), asio::error::operation_aborted);
        }
        const lock_status status = co_await m.async_status(asio::cancel_after(long_enough));
        EXPECT_TRUE(status.locked);
        co_await h.async_unlock(asio::cancel_after(long_enough));
        const bool released = co_await comes_to("lock", 0);
        EXPECT_TRUE(released);
    };
    run(body);
}

/// The timer runs where the caller does, on a thread that is not the client's.
TEST_F(timed_section_test, the_time_may_be_over_on_any_thread_of_a_pool) {
    asio::thread_pool pool{4};
    take_as_stranger(raw, "lock", 60s);
    {
        client many{pool, settings("pool")};
        const mutex taken{many, "lock"};
        const auto wait = [&](std::chrono::microseconds time) -> asio::awaitable<error_code> {
            try {
                (void)co_await taken.async_lock({}, asio::cancel_after(time));
            } catch (const system_error& e) {
                co_return e.code();
            }
            co_return error_code{};
        };
        std::vector<std::future<error_code>> waiting;
        for (int i = 0; i < 200; ++i) {
            waiting.push_back(asio::co_spawn(
                asio::make_strand(pool), wait(std::chrono::microseconds{100 * i}),
                asio::use_future));
        }
        for (auto& one : waiting) {
            ASSERT_EQ(one.wait_for(patience), std::future_status::ready);
            EXPECT_EQ(one.get(), asio::error::operation_aborted);
        }
    }
    pool.join();
}

}  // namespace
}  // namespace conch::test

#endif
