// SPDX-License-Identifier: BSL-1.0
// Sections, blocking mutexes and observers on many threads.
#include "threads/workers.hpp"

#include <conch/blocking.hpp>
#include <conch/observer.hpp>
#include <conch/with_lock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

constexpr int sections = 20;
constexpr std::size_t threads = 8;

using section_test = redis_test;

TEST_F(section_test, blocking_threads_of_one_client_exclude_each_other) {
    int guarded = 0;
    blocking_client c{settings()};
    blocking_mutex m{c, "shared"};
    workers all{threads, [&](std::size_t) {
                    for (int i = 0; i < sections; ++i) {
                        const std::lock_guard guard{m};
                        EXPECT_TRUE(m.owns_lock());
                        ++guarded;
                    }
                }};
    all.join();
    EXPECT_EQ(guarded, sections * static_cast<int>(threads));
}

TEST_F(section_test, a_shutdown_meets_threads_that_block) {
    blocking_client c{settings()};
    blocking_mutex m{c, "shared"};
    workers all{threads, [&](std::size_t i) {
                    if (i == 0) {
                        c.shutdown();
                    }
                    try {
                        for (;;) {
                            const std::lock_guard guard{m};
                        }
                    } catch (const system_error& e) {
                        EXPECT_EQ(e.code(), errc::client_closed);
                    }
                }};
    all.join();
}

TEST_F(section_test, losses_meet_threads_that_give_their_holds_back) {
    std::atomic<int> lost{0};
    blocking_client c{settings()};
    workers all{threads, [&](std::size_t n) {
                    blocking_mutex m{c, "own:" + std::to_string(n)};
                    for (int i = 0; i < sections; ++i) {
                        error_code told;  // no lock protects it
                        hold h = m.acquire();
                        std::stop_token token;
                        {
                            const lost_callback calls{h, [&](error_code why) { told = why; }};
                            token = h.stop_token();  // told of a loss after the callback
                            m.force_unlock();
                            h.async_extend(30s, [](error_code) {});  // finds it out
                            const time_point limit = clock::now() + patience;
                            while (i % 2 == 0 && !token.stop_requested() && clock::now() < limit) {
                                std::this_thread::yield();
                            }
                            h.release();
                        }
                        if (token.stop_requested()) {
                            EXPECT_EQ(told, errc::lock_lost);
                            ++lost;
                        }
                    }
                }};
    all.join();
    EXPECT_GE(lost, sections / 2 * static_cast<int>(threads));
}

TEST_F(section_test, sections_on_a_pool_exclude_each_other) {
    int guarded = 0;
    asio::thread_pool pool{4};
    {
        client c{pool, settings()};
        const mutex m{c, "shared"};
        const auto body = [&](hold&) -> asio::awaitable<void> {
            const int seen = guarded;
            co_await asio::post(asio::use_awaitable);
            guarded = seen + 1;
        };
        const auto visitor = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < sections; ++i) {
                co_await with_lock(m, {}, body);
            }
        };
        std::vector<std::future<void>> done;
        for (std::size_t i = 0; i < threads; ++i) {
            done.push_back(asio::co_spawn(pool, visitor, asio::use_future));
        }
        for (std::future<void>& f : done) {
            in_time(std::move(f));
        }
    }
    pool.join();
    EXPECT_EQ(guarded, sections * static_cast<int>(threads));
}

TEST_F(section_test, bodies_on_a_pool_are_stopped_by_a_shutdown) {
    asio::thread_pool pool{4};
    {
        client c{pool, settings()};
        std::atomic<int> running{0};
        const auto body = [&](hold&) -> asio::awaitable<void> {
            asio::steady_timer never{co_await asio::this_coro::executor,
                                     asio::steady_timer::time_point::max()};
            ++running;
            co_await never.async_wait(asio::use_awaitable);
        };
        std::vector<std::future<void>> done;
        for (std::size_t i = 0; i < threads; ++i) {
            const mutex m{c, "own:" + std::to_string(i)};
            done.push_back(asio::co_spawn(pool, with_lock(m, {}, body), asio::use_future));
        }
        const bool all = run_until(io, [&] { return running == static_cast<int>(threads); });
        EXPECT_TRUE(all);
        in_time(c.async_shutdown({.drain = 10s}, asio::use_future));
        for (std::future<void>& f : done) {
            EXPECT_THROW(in_time(std::move(f)), system_error);
        }
    }
    pool.join();
}

/// Counts without a lock: it is called on one strand.
class counting final : public observer {
public:
    void waited(const wait_span&) noexcept override { ++waits; }
    void held(const hold_span&) noexcept override { ++holds; }
    int waits = 0;
    int holds = 0;
};

TEST_F(section_test, an_observer_is_called_by_one_thread_at_a_time) {
    const auto counts = std::make_shared<counting>();
    config c = settings();
    c.observer = counts;
    {
        blocking_client watched{c};
        blocking_mutex m{watched, "shared"};
        workers all{threads, [&](std::size_t) {
                        for (int i = 0; i < sections; ++i) {
                            m.acquire().release();
                        }
                    }};
        all.join();
    }
    EXPECT_EQ(counts->waits, sections * static_cast<int>(threads));
    EXPECT_EQ(counts->holds, counts->waits);
}

}  // namespace
