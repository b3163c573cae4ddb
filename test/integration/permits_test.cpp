// SPDX-License-Identifier: BSL-1.0
// conch::semaphore on a real server: permits with leases, in clients and across them.
#include "integration/permits_fixture.hpp"

#include <conch/conch.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(permits_test, are_kept_as_redisson_keeps_them) {
    run([&]() -> asio::awaitable<void> {
        const bool first = co_await s1.async_try_set_permits(3);
        EXPECT_TRUE(first);
        EXPECT_EQ(raw.get("permits"), "3");
        hold h = co_await s1.async_acquire(2, {.lease = 20s});
        EXPECT_EQ(raw.get("permits"), "1");
        const reply ids = raw.must({"ZRANGE", out, "0", "-1"});
        EXPECT_EQ(ids.items.size(), 2U);
        for (const reply& id : ids.items) {
            EXPECT_EQ(id.text.size(), 16U);
        }
        EXPECT_GT(h.remaining(), 19s);
        co_await h.async_extend(60s);
        EXPECT_GT(h.remaining(), 55s);
        co_await h.async_unlock();
        EXPECT_EQ(raw.get("permits"), "3");
        EXPECT_FALSE(raw.exists(out));
    });
}

TEST_F(permits_test, clients_share_them_and_no_more) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(3);
        hold a = co_await s1.async_acquire();
        hold b = co_await s2.async_acquire(2);
        hold none = co_await s1.async_try_acquire();
        EXPECT_FALSE(none);
        const std::int64_t available = co_await s2.async_available();
        const std::int64_t acquired = co_await s1.async_acquired();
        const std::int64_t total = co_await s1.async_total();
        EXPECT_EQ(available, 0);
        EXPECT_EQ(acquired, 3);
        EXPECT_EQ(total, 3);
        hold waits;
        start(s1, 2, waits);
        co_await listened();
        co_await a.async_unlock();
        EXPECT_FALSE(waits);
        co_await b.async_unlock();
        co_await granted(waits);
        EXPECT_EQ(left(), 1);
    });
}

TEST_F(permits_test, a_large_request_is_not_overtaken) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(3);
        hold a = co_await s1.async_acquire(2);
        hold large;
        hold small;
        start(s1, 3, large);
        start(s1, 1, small);
        co_await listened();
        hold none = co_await s1.async_try_acquire();
        EXPECT_FALSE(none);
        EXPECT_FALSE(small);
        co_await a.async_unlock();
        co_await granted(large);
        EXPECT_FALSE(small);
        co_await large.async_unlock();
        co_await granted(small);
    });
}

TEST_F(permits_test, who_waited_in_front_and_gives_up_makes_room_for_the_next) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(3);
        hold a = co_await s1.async_acquire(2);
        asio::cancellation_signal stop;
        bool ended = false;
        s1.async_acquire(3, asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, hold h) {
                             EXPECT_EQ(ec, asio::error::operation_aborted);
                             EXPECT_FALSE(h);
                             ended = true;
                         }));
        hold small;
        start(s1, 1, small);
        co_await listened();
        const std::uint64_t busy = one.stats().busy;
        raw.must({"PUBLISH", "redisson_sc:{permits}", "1"});
        const bool asked_again = co_await when([&] { return one.stats().busy > busy; });
        EXPECT_TRUE(asked_again);
        const std::int64_t one_left = co_await s1.async_available();  // behind all that it asked
        EXPECT_EQ(one_left, 1);
        EXPECT_FALSE(small);
        stop.emit(asio::cancellation_type::terminal);
        co_await granted(small);
        EXPECT_TRUE(ended);
        const auto [ec, large] = co_await s1.async_acquire(3, {.wait = 50ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(left(), 0);
    });
}

TEST_F(permits_test, of_a_crashed_holder_come_back_to_who_waits) {
    raw.must({"SET", "permits", "0"});
    raw.must({"EVAL",
              "local t = redis.call('time') for i = 1, 2 do "
              "redis.call('zadd', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) + 300, "
              "'0123456789abcde' .. i) end",
              "1", out});
    run([&]() -> asio::awaitable<void> {
        const std::int64_t acquired = co_await s1.async_acquired();
        EXPECT_EQ(acquired, 2);
        hold h = co_await s1.async_acquire(2, {.wait = 5s});
        EXPECT_EQ(left(), 0);
        EXPECT_EQ(held(), 2);
    });
}

TEST_F(permits_test, of_a_crashed_holder_are_told_to_others) {
    raw.must({"SET", "permits", "0"});
    for (int i = 0; i < 2; ++i) {
        raw.must({"ZADD", out, "1", "0123456789abcde" + std::to_string(i)});
    }
    run([&]() -> asio::awaitable<void> {
        hold b;
        raw.must({"ZADD", out, "9999999999999", "0123456789abcde7"});
        start(s2, 3, b);
        co_await listened();
        hold a = co_await s1.async_acquire();
        EXPECT_FALSE(b);
        EXPECT_EQ(left(), 1);
        raw.must({"ZREM", out, "0123456789abcde7"});
        raw.must({"INCRBY", "permits", "1"});
        co_await a.async_unlock();
        co_await granted(b);
    });
}

TEST_F(permits_test, are_renewed_for_long_and_lost_when_taken_away) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(4);
        hold a = co_await s1.async_acquire(2, {.lease = 300ms});
        hold b = co_await s1.async_acquire(1, {.lease = 300ms});
        co_await wait(1s);
        EXPECT_TRUE(a.owns_lock());
        EXPECT_TRUE(b.owns_lock());
        hold other = co_await s2.async_acquire();
        hold none = co_await s2.async_try_acquire();
        EXPECT_FALSE(none);
        const reply ids = raw.must({"ZRANGE", out, "0", "-1"});
        EXPECT_EQ(ids.items.size(), 4U);
        raw.must({"DEL", out});
        const auto [lost] = co_await a.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        const auto [lost_too] = co_await b.async_wait_lost(as_result);
        EXPECT_EQ(lost_too, errc::lock_lost);
    });
}

TEST_F(permits_test, a_hold_that_lost_one_of_its_permits_is_lost) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(3);
        hold a = co_await s1.async_acquire(3, {.lease = 300ms});
        raw.must({"ZPOPMIN", out});
        raw.must({"INCRBY", "permits", "1"});
        const auto [lost] = co_await a.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        hold b = co_await s2.async_acquire(3, {.wait = 5s});
        EXPECT_TRUE(b);
        EXPECT_EQ(left(), 0);
        EXPECT_EQ(held(), 3);
    });
}

TEST_F(permits_test, come_back_once_however_late_the_release) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(2);
        hold a = co_await s1.async_acquire(2, {.lease = 50ms, .renew = false});
        co_await wait(100ms);
        hold b = co_await s2.async_acquire(2);
        const auto [ec] = co_await a.async_unlock(as_result);
        EXPECT_EQ(ec, errc::lease_expired);
        EXPECT_EQ(left(), 0);
        EXPECT_EQ(held(), 2);
        co_await b.async_unlock();
        const auto [again] = co_await b.async_unlock(as_result);
        EXPECT_EQ(again, errc::already_released);
        EXPECT_EQ(left(), 2);
    });
}

TEST_F(permits_test, are_set_added_and_taken_away) {
    run([&]() -> asio::awaitable<void> {
        hold early;
        start(s2, 1, early);
        co_await listened();
        const bool set = co_await s1.async_try_set_permits(2);
        EXPECT_TRUE(set);
        co_await granted(early);
        const bool again = co_await s1.async_try_set_permits(9);
        EXPECT_FALSE(again);
        co_await s1.async_set_permits(5);
        EXPECT_EQ(left(), 4);
        co_await s1.async_set_permits(0);
        EXPECT_EQ(left(), -1);
        co_await early.async_unlock();
        EXPECT_EQ(left(), 0);
        co_await s1.async_add_permits(3);
        co_await s1.async_add_permits(-1);
        const std::int64_t total = co_await s2.async_total();
        EXPECT_EQ(total, 2);
        const auto [none] = co_await s1.async_add_permits(0, as_result);
        EXPECT_EQ(none, errc::invalid_permits);
        const auto [negative] = co_await s1.async_set_permits(-1, as_result);
        EXPECT_EQ(negative, errc::invalid_permits);
        const auto [many] = co_await s1.async_add_permits(2'147'483'647, as_result);
        EXPECT_EQ(many, errc::invalid_permits);
    });
}

TEST_F(permits_test, a_bad_number_is_one_clear_error) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(2);
        for (const int permits : {0, -1, 1001}) {
            const auto [ec, h] = co_await s1.async_acquire(permits, as_result);
            EXPECT_EQ(ec, errc::invalid_permits) << permits;
            const auto [refused, none] = co_await s1.async_try_acquire(permits, as_result);
            EXPECT_EQ(refused, errc::invalid_permits) << permits;
            EXPECT_THROW((void)s1.permits(permits), std::invalid_argument);
        }
        const auto [more, h] = co_await s1.async_acquire(3, as_result);
        EXPECT_EQ(more, errc::invalid_permits) << "there are two";
        EXPECT_EQ(raw.get("permits"), "2");
        EXPECT_THROW((semaphore{one, ""}), std::invalid_argument);
        co_await s1.async_set_permits(1000);
        hold most = co_await s1.async_acquire(1000, {.lease = 300ms});
        co_await wait(500ms);
        EXPECT_TRUE(most.owns_lock());
        EXPECT_EQ(held(), 1000);
        co_await most.async_unlock();
        EXPECT_EQ(left(), 1000);
    });
}

TEST_F(permits_test, other_kinds_of_data_are_left_alone) {
    for (const std::vector<std::string>& data :
         {std::vector<std::string>{"SET", "permits", "text"},
          std::vector<std::string>{"HSET", "permits", owner_of_redisson, "1"},
          std::vector<std::string>{"SET", out, "1"}}) {
        raw.must({"FLUSHALL"});
        raw.must(data);
        SCOPED_TRACE(data[2]);
        const std::string before = raw.must({"DUMP", data[1]}).text;
        run([&]() -> asio::awaitable<void> {
            const auto [ec, h] = co_await s1.async_acquire(as_result);
            EXPECT_EQ(ec, errc::wrong_type);
            const auto [set] = co_await s1.async_set_permits(2, as_result);
            EXPECT_EQ(set, errc::wrong_type);
            const auto [looked, n] = co_await s1.async_total(as_result);
            EXPECT_EQ(looked, errc::wrong_type);
            const mutex as_mutex = s1.permits(1);
            const auto [forced, done] = co_await as_mutex.async_force_unlock(as_result);
            EXPECT_EQ(forced, errc::wrong_type);
        });
        EXPECT_EQ(raw.must({"DUMP", data[1]}).text, before);
        EXPECT_EQ(raw.must({"DBSIZE"}).number, 1);
    }
}

TEST_F(permits_test, are_told_of_and_taken_back_by_force) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(5);
        hold a = co_await s1.async_acquire(2, {.lease = 1s});
        hold b = co_await s2.async_acquire({.lease = 20s});
        const lock_status now = co_await s2.permits(1).async_status();
        EXPECT_TRUE(now.locked);
        EXPECT_EQ(now.depth, 3U);
        EXPECT_EQ(now.holder.size(), 3U * 32 + 2);
        EXPECT_LE(now.ttl.value_or(1h), 1s);
        const bool done = co_await s2.permits(1).async_force_unlock();
        EXPECT_TRUE(done);
        EXPECT_EQ(left(), 5);
        EXPECT_FALSE(raw.exists(out));
        const auto [of_b] = co_await b.async_wait_lost(as_result);
        EXPECT_EQ(of_b, errc::lock_lost) << "it looks at once";
        const auto [of_a] = co_await a.async_wait_lost(as_result);
        EXPECT_EQ(of_a, errc::lock_lost);
    });
}

TEST_F(permits_test, an_owner_means_nothing) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(2);
        const owner me;
        hold a = co_await s1.async_acquire({.owner = &me});
        hold b = co_await s1.async_acquire({.owner = &me});
        EXPECT_EQ(left(), 0);
        co_await a.async_unlock();
        EXPECT_EQ(left(), 1);
        EXPECT_TRUE(b.owns_lock());
    });
}

TEST_F(permits_test, with_lock_and_threads_take_them_as_a_mutex) {
    raw.must({"SET", "permits", "3"});
    run([&]() -> asio::awaitable<void> {
        const auto body = [&](hold& h) -> asio::awaitable<std::int64_t> {
            EXPECT_TRUE(h.owns_lock());
            co_return left();
        };
        const std::int64_t meanwhile = co_await with_lock(s1.permits(2), {}, body);
        EXPECT_EQ(meanwhile, 1);
        EXPECT_EQ(left(), 3);
    });
    blocking_client threads{settings("threads")};
    const semaphore s{threads.async(), "permits"};
    blocking_mutex two_of_them{threads, s.permits(2)};
    two_of_them.lock();
    EXPECT_EQ(left(), 1);
    two_of_them.unlock();
    hold h = s.async_acquire(3, asio::use_future).get();
    EXPECT_EQ(s.async_available(asio::use_future).get(), 0);
}

TEST_F(permits_test, outlive_a_connection_that_breaks) {
    run([&]() -> asio::awaitable<void> {
        client redis{io, through()};
        const semaphore s{redis, "permits"};
        co_await s.async_set_permits(2);
        hold a = co_await s.async_acquire();
        wire.swallow_replies();
        hold b;
        start(s, 1, b);
        while (left() != 0) {
            co_await wait(1ms);
        }
        wire.cut();
        co_await granted(b);
        EXPECT_TRUE(a.owns_lock());
        EXPECT_EQ(left(), 0);
        EXPECT_EQ(held(), 2);
        co_await a.async_unlock();
        co_await b.async_unlock();
        EXPECT_EQ(left(), 2);
    });
}

}  // namespace
