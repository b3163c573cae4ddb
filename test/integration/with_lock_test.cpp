// SPDX-License-Identifier: BSL-1.0
// with_lock: released on every way out.
#include "integration/with_lock_fixture.hpp"

#include <conch/fair_mutex.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(with_lock_test, the_body_runs_under_the_lock_and_its_result_is_returned) {
    run([&]() -> asio::awaitable<void> {
        bool held = false;
        const int answer = co_await with_lock(m, {}, [&](hold& h) -> asio::awaitable<int> {
            held = h.owns_lock() && h.fence() != 0 && locked();
            co_return 42;
        });
        EXPECT_TRUE(held);
        EXPECT_EQ(answer, 42);
        EXPECT_FALSE(locked()) << "completed before the release was confirmed";
    });
}

TEST_F(with_lock_test, a_body_without_argument_and_result_will_do) {
    run([&]() -> asio::awaitable<void> {
        bool ran = false;
        co_await with_lock(m, [&]() -> asio::awaitable<void> {
            ran = locked();
            co_return;
        });
        EXPECT_TRUE(ran);
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, bodies_under_a_fair_lock_run_in_the_order_in_which_they_came) {
    client other{io, settings("other")};
    const fair_mutex of_one{redis, "lock", {.fenced = true}};
    const fair_mutex of_other{other, "lock", {.fenced = true}};
    std::vector<int> order;
    std::uint64_t last_fence = 0;
    const auto stands = [&](const mutex& fair, int i) -> asio::awaitable<void> {
        const int answer = co_await with_lock(fair, {}, [&](hold& h) -> asio::awaitable<int> {
            EXPECT_TRUE(h.owns_lock() && locked());
            EXPECT_GT(h.fence(), last_fence);
            last_fence = h.fence();
            order.push_back(i);
            co_return i;
        });
        EXPECT_EQ(answer, i);
    };
    run([&]() -> asio::awaitable<void> {
        hold first = co_await of_one.async_lock();
        task_group group{io.get_executor()};
        for (int i = 0; i < 4; ++i) {
            const mutex& fair = i % 2 == 0 ? of_other : of_one;
            group.spawn(stands(fair, i));
            const bool in_line = co_await when(
                [&] { return raw.must({"LLEN", "redisson_lock_queue:{lock}"}).number == i + 1; });
            EXPECT_TRUE(in_line) << i;
        }
        EXPECT_TRUE(order.empty());
        co_await first.async_unlock();
        co_await group.join();
    });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_FALSE(locked());
    EXPECT_FALSE(raw.exists("redisson_lock_queue:{lock}"));
}

TEST_F(with_lock_test, a_body_with_a_name_is_copied_and_its_captures_live_as_long_as_it_runs) {
    run([&]() -> asio::awaitable<void> {
        const auto shared = std::make_shared<std::string>("what the body needs");
        asio::awaitable<std::string> running = [&] {
            auto body = [shared](hold&) -> asio::awaitable<std::string> {
                co_await asio::post(asio::use_awaitable);
                co_return *shared;
            };
            return with_lock(m, {}, body);
        }();
        const std::string text = co_await std::move(running);
        EXPECT_EQ(text, "what the body needs");
        EXPECT_EQ(shared.use_count(), 1) << "a copy of the body is left";
    });
}

TEST_F(with_lock_test, a_body_that_cannot_be_copied_is_passed_by_reference) {
    run([&]() -> asio::awaitable<void> {
        auto body = [p = std::make_unique<int>(7)](hold&) -> asio::awaitable<int> { co_return *p; };
        const int seven = co_await with_lock(m, {}, std::ref(body));
        EXPECT_EQ(seven, 7);
    });
}

TEST_F(with_lock_test, an_exception_of_the_body_comes_out_after_the_release) {
    run([&]() -> asio::awaitable<void> {
        std::string what;
        try {
            co_await with_lock(m, {}, [](hold&) -> asio::awaitable<void> {
                throw std::runtime_error{"mine"};
                co_return;
            });
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "mine");
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, an_exception_before_the_coroutine_of_the_body_comes_out_too) {
    run([&]() -> asio::awaitable<void> {
        std::string what;
        try {
            co_await with_lock(
                m, {}, [](hold&) -> asio::awaitable<void> { throw std::runtime_error{"early"}; });
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "early");
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, a_timeout_comes_out_and_the_body_never_runs) {
    run([&]() -> asio::awaitable<void> {
        const hold other = co_await m.async_lock();
        bool ran = false;
        const error_code ec =
            co_await failure(m, {.wait = 20ms}, [&](hold&) -> asio::awaitable<void> {
                ran = true;
                co_return;
            });
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(ran);
    });
}

TEST_F(with_lock_test, bad_options_are_refused) {
    run([&]() -> asio::awaitable<void> {
        const auto nothing_done = []() -> asio::awaitable<void> { co_return; };
        const error_code late =
            co_await failure(m, {.lease = 1s, .stop_before = 501ms}, nothing_done);
        EXPECT_EQ(late, errc::invalid_stop_before);
        const error_code negative = co_await failure(m, {.stop_before = -1ns}, nothing_done);
        EXPECT_EQ(negative, errc::invalid_stop_before);
        EXPECT_EQ(redis.stats().connects, 0U);
    });
}

TEST_F(with_lock_test, stop_before_is_measured_by_max_hold_too) {
    run([&]() -> asio::awaitable<void> {
        const auto nothing_done = []() -> asio::awaitable<void> { co_return; };
        const lock_options options{.max_hold = 1s, .stop_before = 600ms};
        const error_code ec = co_await failure(m, options, nothing_done);
        EXPECT_EQ(ec, errc::invalid_stop_before);
    });
}

TEST_F(with_lock_test, the_body_may_release_by_itself) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await failure(
            m, {}, [&](hold& h) -> asio::awaitable<void> { co_await h.async_unlock(); });
        EXPECT_FALSE(ec) << ec.message();
        const hold moved = co_await with_lock(
            m, {}, [&](hold& h) -> asio::awaitable<hold> { co_return std::move(h); });
        EXPECT_TRUE(moved.owns_lock()) << "the body may keep the hold";
    });
}

TEST_F(with_lock_test, sections_nest_by_their_owner) {
    run([&]() -> asio::awaitable<void> {
        const owner self;
        const lock_options options{.wait = 5s, .owner = &self};
        const error_code ec = co_await failure(m, options, [&](hold&) -> asio::awaitable<void> {
            co_await with_lock(m, options, []() -> asio::awaitable<void> { co_return; });
            EXPECT_TRUE(locked());
        });
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, a_section_within_a_shorter_lease_goes_on_while_that_is_renewed) {
    run([&]() -> asio::awaitable<void> {
        const owner self;
        hold outer = co_await m.async_lock({.lease = 2s, .owner = &self});
        const lock_options options{.owner = &self};
        const auto body = [&](hold& h) -> asio::awaitable<void> {
            for (int i = 0; i < 10; ++i) {
                co_await m.async_status(asio::use_awaitable);
            }
            const auto state = co_await asio::this_coro::cancellation_state;
            EXPECT_EQ(state.cancelled(), asio::cancellation_type::none);
            EXPECT_TRUE(h.owns_lock());
        };
        const error_code ec = co_await failure(m, options, body);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_TRUE(outer.owns_lock());
        co_await outer.async_unlock();
    });
}

TEST_F(with_lock_test, sections_exclude_each_other_on_many_threads) {
    constexpr int each = 25;
    constexpr int sections = 8;
    int unprotected = 0;
    asio::thread_pool pool{4};
    {
        client shared{pool, settings()};
        const mutex lock{shared, "lock"};
        const auto step = [&](hold&) -> asio::awaitable<void> {
            const int seen = unprotected;
            co_await asio::post(asio::use_awaitable);
            unprotected = seen + 1;
        };
        const auto loop = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < each; ++i) {
                co_await with_lock(lock, {}, step);
            }
        };
        std::vector<std::future<void>> ends;
        for (int i = 0; i < sections; ++i) {
            ends.push_back(asio::co_spawn(pool, loop, asio::use_future));
        }
        for (std::future<void>& end : ends) {
            end.get();
        }
    }
    pool.join();
    EXPECT_EQ(unprotected, each * sections);
}

TEST_F(with_lock_test, the_context_may_go_at_any_time) {
    for (std::size_t k = 0; k < 60; ++k) {
        SCOPED_TRACE(k);
        auto context = std::make_unique<asio::io_context>();
        const auto alive = std::make_shared<int>(0);
        {
            client c{*context, settings()};
            const mutex lock{c, "lock"};
            auto section = [alive](hold&) -> asio::awaitable<void> {
                asio::steady_timer t{co_await asio::this_coro::executor, 1ms};
                co_await t.async_wait(asio::use_awaitable);
                (void)*alive;
            };
            asio::co_spawn(*context, with_lock(lock, {}, section), asio::detached);
        }
        step(*context, k, 1ms);
        context.reset();
        EXPECT_EQ(alive.use_count(), 1) << "the body is leaked";
        raw.command({"DEL", "lock"});
    }
}

}  // namespace
