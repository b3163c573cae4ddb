// SPDX-License-Identifier: BSL-1.0
// A quorum's lock, shared by threads that run its context and by others.
#include "integration/quorum_fixture.hpp"
#include "threads/workers.hpp"

#include <atomic>
#include <deque>

namespace {

using namespace conch;
using namespace conch::test;

class quorum_threads_test : public ::testing::Test {
protected:
    quorum_threads_test() {
        for (int i = 0; i < 3; ++i) {
            servers.push_back(std::make_unique<quorum_server>());
        }
    }

    std::vector<std::unique_ptr<quorum_server>> servers{};
    threaded_context threads{3};
};

TEST_F(quorum_threads_test, threads_exclude_each_other) {
    const contender a{threads.io, servers};
    const contender b{threads.io, servers};
    const quorum_mutex of_a = a.lock("shared", 5s);
    const quorum_mutex of_b = b.lock("shared", 5s);
    std::atomic<int> inside{0};
    std::atomic<int> entered{0};
    workers work{4, [&](std::size_t i) {
                     const quorum_mutex& m = i % 2 == 0 ? of_a : of_b;
                     for (int n = 0; n < 10; ++n) {
                         lock_result r = in_time(lock_from_outside(m));
                         ASSERT_FALSE(r.ec) << r.ec.message();
                         EXPECT_EQ(inside.fetch_add(1), 0);
                         EXPECT_TRUE(r.got.owns_lock());
                         EXPECT_GT(r.got.remaining(), 1s);
                         ++entered;
                         inside.fetch_sub(1);
                         if (n % 2 == 0) {
                             r.got.release();
                         } else {
                             in_time(from_outside(
                                 [&](auto token) { r.got.async_unlock(std::move(token)); }));
                         }
                     }
                 }};
    work.join();
    EXPECT_EQ(entered.load(), 40);
}

// The context of the first client is destroyed last.
TEST_F(quorum_threads_test, each_client_may_run_on_a_context_of_its_own) {
    threaded_context second{1};
    threaded_context third{1};
    std::deque<client> clients;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        threaded_context& its_own = i == 0 ? threads : i == 1 ? second : third;
        clients.emplace_back(its_own.io, settings_for(servers[i]->redis.socket_path()));
    }
    const quorum_mutex of_a{{clients[0], clients[1], clients[2]}, "spread", {.answer_timeout = 5s}};
    const contender b{threads.io, servers};
    const quorum_mutex of_b = b.lock("spread", 5s);
    std::atomic<int> inside{0};
    workers work{
        4, [&](std::size_t i) {
            for (int n = 0; n < 10; ++n) {
                lock_result r = in_time(lock_from_outside(i % 2 == 0 ? of_a : of_b));
                ASSERT_FALSE(r.ec) << r.ec.message();
                EXPECT_EQ(inside.fetch_add(1), 0);
                inside.fetch_sub(1);
                in_time(from_outside([&](auto token) { r.got.async_unlock(std::move(token)); }));
            }
        }};
    work.join();
    lock_result r = in_time(lock_from_outside(of_a, {.lease = 600ms}));
    ASSERT_FALSE(r.ec) << r.ec.message();
    auto lost = from_outside([&](auto token) { r.got.async_wait_lost(std::move(token)); });
    servers[0]->kill();
    servers[1]->kill();
    EXPECT_EQ(in_time(std::move(lost)), errc::lease_expired);
    EXPECT_FALSE(r.got.owns_lock());
}

TEST_F(quorum_threads_test, a_hold_is_watched_by_other_threads_while_it_is_lost) {
    contender a{threads.io, servers};
    const quorum_mutex m = a.lock("watched", 5s);
    lock_result r = in_time(lock_from_outside(m, {.lease = 600ms}));
    ASSERT_FALSE(r.ec);
    std::atomic<bool> over{false};
    workers watching{2, [&](std::size_t) {
                         time_point last{};
                         while (!over) {
                             last = std::max(last, r.got.valid_until());
                             if (r.got.lost_reason()) {
                                 EXPECT_FALSE(r.got.owns_lock());
                             }
                             std::this_thread::yield();
                         }
                         EXPECT_GT(last, time_point{});
                     }};
    auto lost = from_outside([&](auto token) { r.got.async_wait_lost(std::move(token)); });
    in_time(from_outside([&](auto token) { r.got.async_extend(700ms, std::move(token)); }));
    servers[0]->kill();
    servers[2]->kill();
    const error_code why = in_time(std::move(lost));
    over = true;
    watching.join();
    EXPECT_EQ(why, errc::lease_expired);
}

TEST_F(quorum_threads_test, a_wait_may_be_cancelled_on_another_thread) {
    const contender a{threads.io, servers};
    const contender b{threads.io, servers};
    lock_result r = in_time(lock_from_outside(a.lock("taken", 5s)));
    const quorum_mutex m = b.lock("taken", 50ms);
    for (int n = 0; n < 20; ++n) {
        asio::cancellation_signal stop;
        std::promise<error_code> told;
        std::future<error_code> f = told.get_future();
        m.async_lock(asio::bind_cancellation_slot(
            stop.slot(), [&told](error_code ec, hold) { told.set_value(ec); }));
        std::this_thread::yield();
        stop.emit(asio::cancellation_type::terminal);
        EXPECT_EQ(in_time(std::move(f)), asio::error::operation_aborted);
    }
}

}  // namespace
