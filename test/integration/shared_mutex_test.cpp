// SPDX-License-Identifier: BSL-1.0
// shared_mutex on a real server: readers beside each other, writers alone, across clients.
#include "integration/fault_fixture.hpp"

#include <conch/conch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class shared_mutex_test : public fault_test {
protected:
    /// Waits until somebody listens for releases of the lock.
    asio::awaitable<void> listened(int clients = 1) {
        asio::steady_timer pause{io};
        while (raw.subscribers("redisson_rwlock:{lock}") < clients) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }
    /// Starts to wait; the hold is written there.
    void start(const mutex& side, hold& to, const lock_options& o = {}) {
        side.async_lock(o, [&to](error_code ec, hold h) {
            EXPECT_FALSE(ec) << ec.message();
            to = std::move(h);
        });
    }
    asio::awaitable<void> granted(const hold& h) {
        asio::steady_timer pause{io};
        while (!h) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }

    client one{io, push_only("one")};
    client two{io, push_only("two")};
    shared_mutex m1{one, "lock"};
    shared_mutex m2{two, "lock"};
};

TEST_F(shared_mutex_test, threads_read_and_write_by_a_blocking_mutex) {
    blocking_client threads{settings("threads")};
    const shared_mutex prices{threads.async(), "lock"};
    blocking_mutex read{threads, prices.reader()};
    blocking_mutex read_too{threads, prices.reader()};
    blocking_mutex write{threads, prices.writer()};
    hold one = read.acquire();
    hold two = read_too.acquire();
    EXPECT_EQ(raw.must({"HGET", "lock", "mode"}).text, "read");
    EXPECT_FALSE(write.try_acquire());
    read.unlock(one);
    read_too.unlock(two);
    EXPECT_TRUE(write.try_acquire());
}

TEST_F(shared_mutex_test, is_kept_as_redisson_keeps_it) {
    run([&]() -> asio::awaitable<void> {
        hold r = co_await m1.async_lock_shared({.lease = 20s});
        const std::string field = one.id() + ":1";
        EXPECT_EQ(raw.hgetall("lock"),
                  (std::map<std::string, std::string>{{"mode", "read"}, {field, "1"}}));
        const std::string timeout = "{lock}:" + field + ":rwlock_timeout:1";
        EXPECT_EQ(raw.get(timeout), "1");
        for (const std::string& key : {std::string{"lock"}, timeout}) {
            EXPECT_GT(raw.pttl(key), 10'000) << key;
            EXPECT_LE(raw.pttl(key), 20'000) << key;
        }
        co_await r.async_extend(60s);
        EXPECT_GT(raw.pttl("lock"), 50'000);
        EXPECT_GT(raw.pttl(timeout), 50'000);
        co_await r.async_unlock();
        EXPECT_FALSE(raw.exists("lock"));
        hold w = co_await m1.async_lock();
        EXPECT_EQ(raw.hgetall("lock"), (std::map<std::string, std::string>{
                                           {"mode", "write"}, {one.id() + ":2:write", "1"}}));
        co_await w.async_unlock();
        EXPECT_FALSE(raw.exists("lock"));
    });
}

TEST_F(shared_mutex_test, readers_of_two_clients_hold_it_together_and_a_writer_alone) {
    run([&]() -> asio::awaitable<void> {
        hold a = co_await m1.async_lock_shared();
        hold b = co_await m2.async_try_lock_shared();
        EXPECT_TRUE(b);
        hold none = co_await m2.async_try_lock();
        EXPECT_FALSE(none);
        co_await a.async_unlock();
        none = co_await m1.async_try_lock();
        EXPECT_FALSE(none) << "one still reads";
        co_await b.async_unlock();
        hold w = co_await m1.async_try_lock();
        EXPECT_TRUE(w);
        none = co_await m2.async_try_lock_shared();
        EXPECT_FALSE(none);
        none = co_await m2.async_try_lock();
        EXPECT_FALSE(none);
        co_await w.async_unlock();
    });
}

TEST_F(shared_mutex_test, a_writer_is_woken_by_the_last_reader) {
    run([&]() -> asio::awaitable<void> {
        hold a = co_await m1.async_lock_shared();
        hold b = co_await m1.async_lock_shared({.lease = 20s});
        hold w;
        start(m2.writer(), w);
        co_await listened();
        co_await a.async_unlock();
        EXPECT_FALSE(w);
        co_await b.async_unlock();
        co_await granted(w);
        co_await w.async_unlock();
    });
}

TEST_F(shared_mutex_test, readers_are_woken_by_the_writer) {
    run([&]() -> asio::awaitable<void> {
        hold w = co_await m1.async_lock();
        std::vector<hold> readers(3);
        for (hold& r : readers) {
            start(m2.reader(), r);
        }
        co_await listened();
        co_await w.async_unlock();
        for (hold& r : readers) {
            co_await granted(r);
        }
    });
}

TEST_F(shared_mutex_test, a_waiting_writer_has_new_readers_of_all_clients_wait) {
    run([&]() -> asio::awaitable<void> {
        hold r = co_await m1.async_lock_shared();
        hold w;
        start(m2.writer(), w);
        co_await listened();
        client three{io, settings("three")};
        hold late = co_await shared_mutex{three, "lock"}.async_try_lock_shared();
        EXPECT_FALSE(late) << "the writer came first";
        co_await r.async_unlock();
        co_await granted(w);
        EXPECT_FALSE(raw.exists("conch_rw_writer:{lock}"));
        co_await w.async_unlock();
        late = co_await shared_mutex{three, "lock"}.async_try_lock_shared();
        EXPECT_TRUE(late);
    });
}

TEST_F(shared_mutex_test, readers_without_end_do_not_starve_a_writer) {
    run([&]() -> asio::awaitable<void> {
        bool stop = false;
        const auto read_on = [&](shared_mutex& m) -> asio::awaitable<void> {
            asio::steady_timer pause{io};
            while (!stop) {
                hold h = co_await m.async_lock_shared();
                pause.expires_after(2ms);
                co_await pause.async_wait(asio::use_awaitable);
            }
        };
        int running = 0;
        for (int i = 0; i < 8; ++i) {
            ++running;
            asio::co_spawn(io, read_on(i % 2 ? m1 : m2), [&](std::exception_ptr) { --running; });
        }
        client three{io, settings("three")};
        const shared_mutex m3{three, "lock"};
        for (int i = 0; i < 10; ++i) {
            hold w = co_await m3.async_lock({.wait = 20s});
            EXPECT_EQ(raw.hgetall("lock").size(), 2U) << "alone";
            co_await w.async_unlock();
        }
        stop = true;
        asio::steady_timer pause{io};
        while (running > 0) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    });
}

TEST_F(shared_mutex_test, a_crashed_reader_blocks_a_writer_until_its_lease_ends) {
    raw.must({"HSET", "lock", "mode", "read", owner_of_redisson, "1"});
    raw.must({"PEXPIRE", "lock", "300"});
    run([&]() -> asio::awaitable<void> {
        hold w = co_await m1.async_lock();
        EXPECT_TRUE(w);
        co_await w.async_unlock();
    });
}

TEST_F(shared_mutex_test, renewal_keeps_readers_and_writers_for_long) {
    run([&]() -> asio::awaitable<void> {
        asio::steady_timer pause{io};
        hold r = co_await m1.async_lock_shared({.lease = 300ms});
        hold s = co_await m2.async_lock_shared({.lease = 300ms});
        pause.expires_after(1s);
        co_await pause.async_wait(asio::use_awaitable);
        EXPECT_TRUE(r.owns_lock());
        EXPECT_TRUE(s.owns_lock());
        co_await r.async_unlock();
        co_await s.async_unlock();
        hold w = co_await m1.async_lock({.lease = 300ms});
        pause.expires_after(1s);
        co_await pause.async_wait(asio::use_awaitable);
        EXPECT_TRUE(w.owns_lock());
        co_await w.async_unlock();
    });
}

TEST_F(shared_mutex_test, a_forced_release_takes_it_from_all_readers) {
    run([&]() -> asio::awaitable<void> {
        hold r = co_await m1.async_lock_shared({.lease = 1s});
        hold s = co_await m2.async_lock_shared({.lease = 1s});
        const lock_status now = co_await m1.async_status();
        EXPECT_TRUE(now.shared);
        EXPECT_EQ(now.depth, 2U);
        const bool done = co_await m1.async_force_unlock();
        EXPECT_TRUE(done);
        EXPECT_FALSE(raw.exists("lock"));
        const auto [of_r] = co_await r.async_wait_lost(as_result);
        EXPECT_EQ(of_r, errc::lock_lost);
        const auto [of_s] = co_await s.async_wait_lost(as_result);
        EXPECT_EQ(of_s, errc::lock_lost);
    });
}

TEST_F(shared_mutex_test, other_kinds_of_data_are_left_alone) {
    const std::vector<std::vector<std::string>> all{
        {"SET", "lock", "two pieces"},
        {"HSET", "lock", "sku", "2"},
        {"HSET", "lock", owner_of_redisson, "1"},
        {"HSET", "lock", "mode", "dark"},
        {"HSET", "lock", "mode", "read"},
        {"HSET", "lock", "mode", "read", "n", "2"},
        {"HSET", "lock", "mode", "write", "n:1", "2"},
        {"HSET", "lock", "mode", "read", "by", "bob"},
        {"HSET", "lock", "mode", "read", owner_of_redisson, "0"}};
    for (std::size_t i = 0; i < 2 * all.size(); ++i) {
        raw.must({"FLUSHALL"});
        raw.must(all[i / 2]);
        if (i % 2 == 1) {
            raw.must({"PEXPIRE", "lock", "3600000"});
        }
        const std::string before = raw.must({"DUMP", "lock"}).text;
        SCOPED_TRACE(i);
        run([&]() -> asio::awaitable<void> {
            for (const mutex* side : {&m1.writer(), &m1.reader()}) {
                const auto [ec, h] = co_await side->async_try_lock({}, as_result);
                EXPECT_EQ(ec, errc::wrong_type);
                const auto [waited, w] = co_await side->async_lock({.wait = 5s}, as_result);
                EXPECT_EQ(waited, errc::wrong_type);
                const auto [forced, done] = co_await side->async_force_unlock(as_result);
                EXPECT_EQ(forced, errc::wrong_type);
            }
        });
        EXPECT_EQ(raw.must({"DUMP", "lock"}).text, before);
        EXPECT_EQ(raw.pttl("lock") == -1, i % 2 == 0);
    }
}

TEST_F(shared_mutex_test, many_fields_that_are_no_holders_are_not_released_by_force) {
    for (int i = 0; i < 100; ++i) {
        raw.must({"HSET", "lock", "mode", "read", "line:" + std::to_string(i), "2"});
    }
    const std::string before = raw.must({"DUMP", "lock"}).text;
    run([&]() -> asio::awaitable<void> {
        const auto [ec, done] = co_await m1.async_force_unlock(as_result);
        EXPECT_EQ(ec, errc::wrong_type);
    });
    EXPECT_EQ(raw.must({"DUMP", "lock"}).text, before);
}

TEST_F(shared_mutex_test, a_try_to_write_finds_out_that_the_reader_crashed) {
    raw.must({"HSET", "lock", "mode", "read", owner_of_redisson, "1"});
    raw.must({"PEXPIRE", "lock", "60000"});
    run([&]() -> asio::awaitable<void> {
        const hold w = co_await m1.async_try_lock();
        EXPECT_TRUE(w.owns_lock());
    });
}

TEST_F(shared_mutex_test, a_reader_that_unlocks_leaves_no_key) {
    run([&]() -> asio::awaitable<void> {
        hold r = co_await m1.async_lock_shared();
        co_await r.async_unlock();
        EXPECT_EQ(raw.must({"DBSIZE"}).number, 0);
    });
}

TEST_F(shared_mutex_test, with_lock_takes_either_side) {
    run([&]() -> asio::awaitable<void> {
        const auto body = [](hold& h) -> asio::awaitable<bool> { co_return h.owns_lock(); };
        const bool read = co_await with_lock(m1.reader(), {}, body);
        const bool written = co_await with_lock(m1.writer(), {}, body);
        EXPECT_TRUE(read && written);
    });
}

}  // namespace
