// SPDX-License-Identifier: BSL-1.0
// One holder at a time: between coroutines, clients, threads and processes.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using exclusion_test = redis_test;

/// What a lock is to protect: unprotected, it loses updates and sees overlaps. Atomic so that a
/// broken lock is a wrong number, not undefined behaviour.
struct counter {
    std::atomic<int> value{0};
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};

    asio::awaitable<void> increment() {
        if (inside.fetch_add(1) != 0) {
            ++overlaps;
        }
        const int seen = value.load();
        co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
        co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
        value.store(seen + 1);
        --inside;
    }
};

asio::awaitable<void> increment_often(client& c, std::string name, counter& n, int times) {
    const mutex m{c, name};
    for (int i = 0; i < times; ++i) {
        hold h = co_await m.async_lock();
        co_await n.increment();
        co_await h.async_unlock();
    }
}

TEST_F(exclusion_test, without_a_lock_the_counter_of_these_tests_loses_updates) {
    counter n;
    run([&]() -> asio::awaitable<void> {
        task_group group{io.get_executor()};
        for (int i = 0; i < 5; ++i) {
            group.spawn(n.increment());
        }
        co_await group.join();
    });
    EXPECT_LT(n.value, 5);
    EXPECT_GT(n.overlaps, 0);
}

TEST_F(exclusion_test, coroutines_of_one_client_exclude_each_other) {
    client c{io, settings()};
    counter n;
    run([&]() -> asio::awaitable<void> {
        task_group group{io.get_executor()};
        for (int i = 0; i < 20; ++i) {
            group.spawn(increment_often(c, "counter", n, 20));
        }
        co_await group.join();
    });
    EXPECT_EQ(n.value, 400);
    EXPECT_EQ(n.overlaps, 0);
    EXPECT_FALSE(raw.exists("counter"));
}

TEST_F(exclusion_test, clients_exclude_each_other) {
    client a{io, settings()};
    client b{io, settings()};
    client c{io, settings()};
    counter n;
    run([&]() -> asio::awaitable<void> {
        task_group group{io.get_executor()};
        for (int i = 0; i < 5; ++i) {
            group.spawn(increment_often(a, "counter", n, 20));
            group.spawn(increment_often(b, "counter", n, 20));
            group.spawn(increment_often(c, "counter", n, 20));
        }
        co_await group.join();
    });
    EXPECT_EQ(n.value, 300);
    EXPECT_EQ(n.overlaps, 0);
    EXPECT_FALSE(raw.exists("counter"));
}

// The call that starts the last operation may return long after that ended, and its client with it.
TEST_F(exclusion_test, a_client_may_end_before_the_call_of_its_last_operation_returns) {
    asio::thread_pool pool{8};
    std::vector<std::jthread> all;
    for (int t = 0; t < 4; ++t) {
        all.emplace_back([&, own = "counter" + std::to_string(t)] {
            for (int i = 0; i < 50; ++i) {
                counter n;
                client c{pool.get_executor(), settings()};
                asio::co_spawn(pool, increment_often(c, own, n, 3), asio::use_future).get();
                EXPECT_EQ(n.value, 3);
            }
        });
    }
    all.clear();
    pool.join();
}

TEST_F(exclusion_test, two_mutexes_of_one_name_are_the_same_lock) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex one{c, "shared"};
        const mutex other{c, "shared"};
        const mutex copy = one;
        hold h = co_await one.async_lock();
        const hold second = co_await other.async_try_lock();
        EXPECT_FALSE(second);
        const hold third = co_await copy.async_try_lock();
        EXPECT_FALSE(third);
        co_await h.async_unlock();
    });
}

TEST_F(exclusion_test, different_names_do_not_exclude_each_other) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex one{c, "one"};
        const mutex other{c, "other"};
        const hold h = co_await one.async_lock();
        const hold second = co_await other.async_try_lock();
        EXPECT_TRUE(second);
    });
}

/// One process of the next test: its exit status says how it went.
int work_in_child(const std::string& socket_path, counter& n, int coroutines, int times) {
    asio::io_context io;
    client c{io, settings_for(socket_path)};
    auto all = [&]() -> asio::awaitable<void> {
        task_group group{io.get_executor()};
        for (int i = 0; i < coroutines; ++i) {
            group.spawn(increment_often(c, "counter", n, times));
        }
        co_await group.join();
    };
    run_test(io, all(), 30s);
    return 0;
}

TEST_F(exclusion_test, processes_exclude_each_other) {
    shared_value<counter> n;
    std::vector<child_process> children;
    for (int i = 0; i < 3; ++i) {
        children.emplace_back([&](const child_process::report&) {
            return work_in_child(server.socket_path(), *n, 8, 25);
        });
    }
    for (child_process& child : children) {
        EXPECT_EQ(child.join(40s), 0);
    }
    EXPECT_EQ(n->value, 3 * 8 * 25);
    EXPECT_EQ(n->overlaps, 0);
    EXPECT_FALSE(raw.exists("counter"));
}

TEST_F(exclusion_test, a_client_may_be_used_from_many_threads) {
    counter n;
    asio::thread_pool pool{4};
    {
        client c{pool.get_executor(), settings()};
        std::vector<std::future<void>> all;
        for (int i = 0; i < 16; ++i) {
            all.push_back(
                asio::co_spawn(pool, increment_often(c, "counter", n, 25), asio::use_future));
        }
        for (std::future<void>& one : all) {
            if (one.wait_for(patience) != std::future_status::ready) {
                ADD_FAILURE() << "a coroutine did not finish";
                pool.stop();
                break;
            }
            EXPECT_NO_THROW(one.get());
        }
    }
    pool.join();
    EXPECT_EQ(n.value, 400);
    EXPECT_EQ(n.overlaps, 0);
}

TEST_F(exclusion_test, local_waiters_are_served_in_the_order_of_their_calls) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "queue"};
        std::vector<int> order;
        hold first = co_await m.async_lock();
        task_group group{io.get_executor()};
        const auto waiter = [&](int number) -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            order.push_back(number);
            co_await h.async_unlock();
        };
        std::vector<int> expected;
        for (int i = 0; i < 40; ++i) {
            group.spawn(waiter(i));
            expected.push_back(i);
        }
        const bool queued = co_await when([&] { return c.stats().waiting_now == 40; });
        EXPECT_TRUE(queued);
        co_await first.async_unlock();
        co_await group.join();
        EXPECT_EQ(order, expected);
    });
}

TEST_F(exclusion_test, a_try_does_not_overtake_local_waiters) {
    client c{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "queue"};
        take_as_stranger(raw, "queue");
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold h = co_await m.async_lock();
            EXPECT_TRUE(h);
        };
        group.spawn(waiter());
        const bool queued = co_await when([&] { return raw.calls("evalsha") == 2; });
        EXPECT_TRUE(queued);
        const hold tried = co_await m.async_try_lock();
        EXPECT_FALSE(tried);
        EXPECT_EQ(raw.calls("evalsha"), 2u) << "a try with local waiters asked the server";
        redisson_release(raw, "queue");
        co_await group.join();
    });
}

TEST_F(exclusion_test, a_waiter_is_woken_by_the_push_and_not_by_the_poll) {
    client a{io, push_only("a")};
    client b{io, push_only("b")};
    run([&]() -> asio::awaitable<void> {
        for (std::uint64_t round = 1; round <= 10; ++round) {
            const std::string name = "pushed:" + std::to_string(round);
            const mutex of_a{a, name};
            const mutex of_b{b, name};
            const auto waiter = [&]() -> asio::awaitable<void> {
                hold h = co_await of_b.async_lock();
                co_await h.async_unlock();
            };
            hold h = co_await of_a.async_lock();
            raw.reset_calls();
            task_group group{io.get_executor()};
            group.spawn(waiter());
            const bool parked = co_await when([&] { return raw.calls("evalsha") == 2; });
            EXPECT_TRUE(parked) << "a waiter tries, subscribes, and tries again";
            co_await h.async_unlock();
            co_await group.join();
            EXPECT_GE(b.stats().wakes_by_message, round);
        }
        EXPECT_EQ(b.stats().wakes_by_poll, 0u);
        EXPECT_EQ(b.stats().contended, 10u);
    });
}

TEST_F(exclusion_test, local_hand_offs_do_not_starve_another_client) {
    config few = push_only();
    few.max_passes = 4;
    client a{io, few};
    client b{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "fair"};
        const mutex of_b{b, "fair"};
        int grants_to_a = 0;
        int grants_to_a_before_b = -1;
        hold first = co_await of_a.async_lock();
        const auto other = [&]() -> asio::awaitable<void> {
            hold h = co_await of_b.async_lock();
            grants_to_a_before_b = grants_to_a;
            co_await h.async_unlock();
        };
        const auto local = [&]() -> asio::awaitable<void> {
            hold h = co_await of_a.async_lock();
            ++grants_to_a;
            co_await pass(2ms);
            co_await h.async_unlock();
        };
        task_group group{io.get_executor()};
        group.spawn(other());
        for (int i = 0; i < 60; ++i) {
            group.spawn(local());
        }
        const bool waiting = co_await when([&] {
            return raw.subscribers(channel_of("fair")) >= 1 && a.stats().waiting_now == 60;
        });
        EXPECT_TRUE(waiting);
        co_await first.async_unlock();
        co_await group.join();
        EXPECT_GE(grants_to_a_before_b, 0);
        EXPECT_LE(grants_to_a_before_b, 12) << "three rows of max_passes";
    });
}

}  // namespace
