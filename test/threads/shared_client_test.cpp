// SPDX-License-Identifier: BSL-1.0
// One client and its holds, used by many threads at once. What may go wrong here is seen by
// ThreadSanitizer; without it, by two holders at one time, a crash or a hang.
#include "threads/workers.hpp"

#include <conch/rate_limiter.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

constexpr int names = 4;
constexpr int visitors = 32;
constexpr int rounds = 10;

class shared_client_test : public redis_test {
protected:
    /// Counters that nothing but the locks protects: to ThreadSanitizer, too.
    std::array<int, names> guarded{};

    asio::awaitable<void> visit(client& c, int first) {
        for (int i = 0; i < rounds; ++i) {
            const int n = (first + i) % names;
            const mutex m{c, "shared:" + std::to_string(n)};
            hold h = co_await m.async_lock();
            ++guarded.at(static_cast<std::size_t>(n));
            if (i % 2 == 0) {
                co_await h.async_unlock();
            }
        }
    }

    /// Coroutines on all threads of this executor, each on a strand of its own.
    void visit_from(const asio::any_io_executor& executor) {
        {
            client c{executor, settings()};
            std::vector<std::future<void>> done;
            for (int i = 0; i < visitors; ++i) {
                done.push_back(
                    asio::co_spawn(asio::make_strand(executor), visit(c, i), asio::use_future));
            }
            for (std::future<void>& f : done) {
                in_time(std::move(f));
            }
        }
        for (const int count : guarded) {
            EXPECT_EQ(count, visitors * rounds / names);
        }
    }
};

TEST_F(shared_client_test, coroutines_on_a_context_with_many_threads_exclude_each_other) {
    threaded_context context{4};
    visit_from(context.io.get_executor());
    context.finish();
}

TEST_F(shared_client_test, coroutines_on_a_thread_pool_exclude_each_other) {
    asio::thread_pool pool{4};
    visit_from(pool.get_executor());
    pool.join();
}

TEST_F(shared_client_test, threads_without_a_context_exclude_each_other) {
    threaded_context context{2};
    int count = 0;
    {
        client c{context.io, settings()};
        const mutex m{c, "outside"};
        workers many{4, [&](std::size_t) {
                         for (int i = 0; i < rounds; ++i) {
                             lock_result r = in_time(lock_from_outside(m));
                             ASSERT_FALSE(r.ec) << r.ec.message();
                             ++count;
                             const error_code ec = in_time(from_outside(
                                 [&](auto token) { r.got.async_unlock(std::move(token)); }));
                             EXPECT_FALSE(ec) << ec.message();
                         }
                     }};
        many.join();
    }
    context.finish();
    EXPECT_EQ(count, 4 * rounds);
    EXPECT_FALSE(raw.exists("outside"));
}

TEST_F(shared_client_test, handlers_run_on_their_own_context_when_the_client_has_another) {
    threaded_context of_client{2};
    threaded_context of_handlers{2};
    std::atomic<int> called{0};
    {
        client c{of_client.io, settings()};
        const auto elsewhere = of_handlers.io.get_executor();
        workers many{3, [&](std::size_t i) {
                         const mutex m{c, "elsewhere:" + std::to_string(i)};
                         for (int k = 0; k < rounds; ++k) {
                             std::promise<hold> told;
                             std::future<hold> f = told.get_future();
                             m.async_lock(
                                 {}, asio::bind_executor(elsewhere, [&](const error_code&, hold h) {
                                     EXPECT_TRUE(elsewhere.running_in_this_thread());
                                     ++called;
                                     told.set_value(std::move(h));
                                 }));
                             const hold h = in_time(std::move(f));
                             EXPECT_TRUE(h.owns_lock());
                         }
                     }};
        many.join();
    }
    of_client.finish();
    of_handlers.finish();
    EXPECT_EQ(called, 3 * rounds);
}

TEST_F(shared_client_test, a_hold_is_observed_by_many_threads_while_it_is_renewed) {
    threaded_context context{2};
    {
        client c{context.io, settings()};
        const mutex m{c, "observed", {.fenced = true}};
        const lock_result r = in_time(lock_from_outside(m, {.lease = 600ms}));
        ASSERT_FALSE(r.ec) << r.ec.message();
        const time_point end = clock::now() + patience;
        workers many{3, [&](std::size_t) {
                         while (c.stats().renewals < 3 && clock::now() < end) {
                             EXPECT_EQ(r.got.owns_lock(), !r.got.lost_reason());
                             EXPECT_GT(r.got.valid_until(), time_point{});
                             EXPECT_GT(r.got.fence(), 0u);
                             EXPECT_EQ(c.last_server_error(), "");
                             EXPECT_TRUE(r.got);
                         }
                     }};
        many.join();
        EXPECT_GE(c.stats().renewals, 3u);
    }
    context.finish();
}

TEST_F(shared_client_test, the_loss_of_a_hold_is_seen_by_other_threads) {
    threaded_context context{2};
    {
        client c{context.io, settings()};
        const mutex m{c, "taken"};
        const lock_result r = in_time(lock_from_outside(m, {.lease = 600ms}));
        ASSERT_FALSE(r.ec) << r.ec.message();
        const time_point end = clock::now() + patience;
        workers many{3, [&](std::size_t i) {
                         while (!r.got.lost_reason() && clock::now() < end) {
                             EXPECT_TRUE(r.got);
                             if (i == 0) {
                                 raw.command({"DEL", "taken"});
                             }
                         }
                     }};
        many.join();
        EXPECT_TRUE(r.got.lost_reason());
        EXPECT_FALSE(r.got.owns_lock());
    }
    context.finish();
}

TEST_F(shared_client_test, holds_end_in_every_way_on_threads_that_did_not_take_them) {
    threaded_context context{2};
    {
        client c{context.io, settings()};
        workers many{
            4, [&](std::size_t i) {
                const mutex m{c, "passed-on:" + std::to_string(i)};
                for (int k = 0; k < rounds; ++k) {
                    lock_result r = in_time(lock_from_outside(m));
                    ASSERT_TRUE(r.got.owns_lock()) << r.ec.message();
                    const auto watch = std::make_shared<std::future<error_code>>(
                        from_outside([&](auto token) { r.got.async_wait_lost(std::move(token)); }));
                    workers other{
                        1, [&, taken = std::make_shared<hold>(std::move(r.got))](std::size_t) {
                            hold mine = std::move(*taken);
                            if (k % 3 == 0) {
                                mine.release();
                                EXPECT_FALSE(mine);
                            } else if (k % 3 == 1) {
                                mine = hold{};
                            }
                        }};
                    other.join();
                    EXPECT_FALSE(in_time(std::move(*watch)));
                }
            }};
        many.join();
    }
    context.finish();
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(shared_client_test, permits_are_asked_for_from_many_threads_and_none_is_granted_too_many) {
    constexpr std::uint64_t limit = 60;
    threaded_context context{2};
    std::atomic<std::uint64_t> granted{0};
    std::atomic<std::uint64_t> refused{0};
    {
        client c{context.io, settings()};
        const rate_limiter shared{c, "calls", {limit, 1h}};
        workers many{4, [&](std::size_t) {
                         for (int k = 0; k < 20; ++k) {
                             const rate_limiter copy{shared};
                             const rate_verdict v =
                                 in_time(copy.async_try_acquire(asio::use_future));
                             EXPECT_EQ(v.limit, limit);
                             ++(v.allowed ? granted : refused);
                         }
                     }};
        many.join();
        workers waiting{3, [&](std::size_t) {
                            EXPECT_THROW(
                                in_time(shared.async_acquire({.wait = 1ms}, asio::use_future)),
                                system_error);
                        }};
        waiting.join();
    }
    context.finish();
    EXPECT_EQ(granted, limit);
    EXPECT_EQ(refused, 4u * 20u - limit);
}

TEST_F(shared_client_test, mutexes_are_made_copied_and_dropped_on_any_thread) {
    threaded_context context{2};
    {
        client c{context.io, settings()};
        const mutex shared{c, "copied"};
        workers many{4, [&](std::size_t) {
                         for (int k = 0; k < rounds; ++k) {
                             std::optional<mutex> copy{shared};
                             std::future<lock_result> f = lock_from_outside(*copy);
                             copy.reset();
                             const lock_result r = in_time(std::move(f));
                             EXPECT_TRUE(r.got.owns_lock()) << r.ec.message();
                         }
                     }};
        many.join();
    }
    context.finish();
    EXPECT_FALSE(raw.exists("copied"));
}

}  // namespace
