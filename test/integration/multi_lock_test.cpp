// SPDX-License-Identifier: BSL-1.0
// multi_lock on real servers: all locks or none, whatever others do with some of them.
#include "integration/fault_fixture.hpp"

#include <conch/conch.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class multi_lock_test : public fault_test {
protected:
    template <typename Condition>
    static asio::awaitable<void> expect(Condition c, const char* what) {
        const bool came = co_await when(c);
        EXPECT_TRUE(came) << what;
    }
    /// Starts to wait; the hold is written there.
    static void start(const mutex& m, hold& to, const lock_options& o = {}) {
        m.async_lock(o, [&to](error_code ec, hold h) {
            EXPECT_FALSE(ec) << ec.message();
            to = std::move(h);
        });
    }
    /// How often the server has read from any connection.
    std::int64_t reads() {
        const std::string info = raw.must({"INFO", "stats"}).text;
        const std::string field = "total_reads_processed:";
        return std::stoll(info.substr(info.find(field) + field.size()));
    }
    bool all_free() { return raw.command({"DBSIZE"}).number == 0; }

    client one{io, push_only("one")};
    client two{io, push_only("two")};
    mutex a{one, "a"};
    mutex b{one, "b"};
    mutex c{one, "c"};
};

TEST_F(multi_lock_test, locks_of_every_kind_are_held_together_and_given_back_together) {
    run([&]() -> asio::awaitable<void> {
        const token_mutex plain{two, "plain"};
        const shared_mutex rw{one, "rw"};
        const multi_lock all{plain, a, rw.writer()};
        EXPECT_EQ(all.name(), "a, plain, rw");
        EXPECT_EQ(all.label(), "lock \"a, plain, rw\" at " + server.url());
        hold h = co_await all.async_lock({.lease = 20s});
        EXPECT_TRUE(h.owns_lock());
        EXPECT_LE(h.remaining(), 20s);
        for (const char* const key : {"a", "plain", "rw"}) {
            EXPECT_TRUE(raw.exists(key)) << key;
        }
        hold none = co_await a.async_try_lock();
        EXPECT_FALSE(none);
        none = co_await rw.async_try_lock_shared();
        EXPECT_FALSE(none);
        co_await h.async_extend(60s);
        EXPECT_GT(h.remaining(), 50s);
        EXPECT_GT(raw.pttl("plain"), 50'000);
        co_await h.async_unlock();
        for (const char* const key : {"a", "plain", "rw"}) {
            EXPECT_FALSE(raw.exists(key)) << key;
        }
    });
}

// Eight or more leave as one script, fewer as one write: that is faster.
TEST_F(multi_lock_test, locks_of_one_client_take_one_round_trip) {
    run([&]() -> asio::awaitable<void> {
        std::vector<mutex> all;
        for (int i = 0; i < 8; ++i) {
            all.emplace_back(one, "l" + std::to_string(i));
        }
        const std::vector<std::reference_wrapper<const mutex>> eight{all.begin(), all.end()};
        const std::span three{eight.data(), 3};
        hold warm_up = co_await multi_lock{eight}.async_lock();
        co_await warm_up.async_unlock();
        for (const std::size_t scripts : {1u, 3u}) {
            const multi_lock m{scripts == 3 ? three : std::span{eight}};
            raw.reset_calls();
            const std::int64_t before = reads();
            hold h = co_await m.async_lock();
            EXPECT_EQ(reads() - before, 2) << "one, and that of the question";
            const std::int64_t between = reads();
            co_await h.async_unlock();
            EXPECT_EQ(reads() - between, 2) << "one, and that of the question";
            EXPECT_EQ(raw.calls("evalsha"), 2 * scripts);
        }
    });
}

TEST_F(multi_lock_test, a_try_that_meets_a_busy_lock_keeps_none) {
    run([&]() -> asio::awaitable<void> {
        hold other = co_await mutex{two, "b"}.async_lock();
        hold none = co_await multi_lock{a, b, c}.async_try_lock();
        EXPECT_FALSE(none);
        co_await expect([&] { return !raw.exists("a") && !raw.exists("c"); },
                        "the others are given back");
        EXPECT_TRUE(other.owns_lock());
        co_await other.async_unlock();
        none = co_await multi_lock{a, b, c}.async_try_lock();
        EXPECT_TRUE(none);
    });
}

// As one write, and as one script.
TEST_F(multi_lock_test, a_key_of_another_kind_is_an_error_and_the_others_are_given_back) {
    raw.must({"SET", "text", "a value"});
    raw.must({"RPUSH", "list", "a", "b"});
    const mutex text{one, "text"};
    const mutex list{one, "list"};
    std::vector<mutex> more;
    for (int i = 0; i < 8; ++i) {
        more.emplace_back(one, "l" + std::to_string(i));
    }
    run([&]() -> asio::awaitable<void> {
        for (const mutex* other : {&text, &list}) {
            std::vector<std::reference_wrapper<const mutex>> nine{more.begin(), more.end()};
            nine.insert(nine.begin() + 4, std::cref(*other));
            const multi_lock three{a, *other, c};
            const multi_lock many{nine};
            for (const multi_lock* all : {&three, &many}) {
                const auto [ec, h] = co_await all->async_lock({.wait = 10s}, as_result);
                EXPECT_EQ(ec, errc::wrong_type) << ec.message();
                EXPECT_FALSE(h);
                const auto [tried, none] = co_await all->async_try_lock(as_result);
                EXPECT_EQ(tried, errc::wrong_type) << tried.message();
                EXPECT_FALSE(none);
                co_await expect([&] { return raw.dbsize() == 2; }, "the others are given back");
            }
        }
    });
    EXPECT_EQ(raw.get("text"), "a value");
    EXPECT_EQ(raw.must({"LLEN", "list"}).number, 2);
    EXPECT_EQ(raw.pttl("text"), -1);
    EXPECT_EQ(raw.pttl("list"), -1);
}

TEST_F(multi_lock_test, a_fair_lock_and_a_permit_are_held_with_a_plain_mutex) {
    run([&]() -> asio::awaitable<void> {
        const fair_mutex fair{one, "fair"};
        const semaphore leased{one, "leased"};
        co_await leased.async_set_permits(1);
        const multi_lock all{fair, a, leased.permits(1)};
        hold permit = co_await semaphore{two, "leased"}.async_acquire({.lease = 60s});
        hold h;
        start(all, h, {.lease = 60s});
        const auto waits = [&] { return raw.subscribers("redisson_sc:{leased}") == 1; };
        co_await expect(waits, "it waits for the permit");
        hold free = co_await a.async_try_lock();
        EXPECT_TRUE(free) << "who waits for one is in nobody's way at the others";
        co_await free.async_unlock();
        hold first = co_await fair_mutex{two, "fair"}.async_lock({.wait = 10s, .lease = 60s});
        co_await permit.async_unlock();
        const auto in_line = [&] {
            return raw.must({"LLEN", "redisson_lock_queue:{fair}"}).number == 1;
        };
        co_await expect(in_line, "it waits for the fair lock");
        EXPECT_FALSE(h);
        co_await first.async_unlock();
        co_await expect([&] { return h.owns_lock(); }, "it has all");

        hold none = co_await fair_mutex{two, "fair"}.async_try_lock();
        EXPECT_FALSE(none);
        none = co_await mutex{two, "a"}.async_try_lock();
        EXPECT_FALSE(none);
        none = co_await semaphore{two, "leased"}.async_try_acquire();
        EXPECT_FALSE(none);
        const std::int64_t out = co_await leased.async_acquired();
        EXPECT_EQ(out, 1);
        co_await h.async_extend(10min);
        EXPECT_GT(std::min(raw.pttl("fair"), raw.pttl("a")), 300'000);
        co_await h.async_unlock();
        EXPECT_FALSE(raw.exists("fair") || raw.exists("a"));
        EXPECT_FALSE(raw.exists("redisson_lock_queue:{fair}"));
        EXPECT_EQ(raw.get("leased"), "1");
    });
}

TEST_F(multi_lock_test, who_waits_for_one_is_in_nobodys_way_at_the_others) {
    run([&]() -> asio::awaitable<void> {
        hold other = co_await mutex{two, "b"}.async_lock();
        hold h;
        const multi_lock all{a, b, c};
        start(all, h);
        co_await expect([&] { return listening("b"); }, "it waits for b");
        for (int i = 0; i < 20; ++i) {
            hold free = co_await mutex{two, "a"}.async_lock({.wait = 1s});
            co_await free.async_unlock();
        }
        EXPECT_FALSE(h);
        co_await other.async_unlock();
        co_await expect([&] { return h.owns_lock(); }, "woken by the message");
        co_await h.async_unlock();
    });
}

TEST_F(multi_lock_test, whose_wait_is_over_leaves_nothing) {
    run([&]() -> asio::awaitable<void> {
        hold other = co_await mutex{two, "b"}.async_lock();
        const auto [ec, h] = co_await async_lock_all({.wait = 50ms}, a, b, c)(as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(h);
        co_await other.async_unlock();
        co_await expect([&] { return all_free(); }, "nothing is left");
    });
}

TEST_F(multi_lock_test, who_is_cancelled_leaves_nothing) {
    run([&]() -> asio::awaitable<void> {
        hold other = co_await mutex{two, "b"}.async_lock();
        asio::cancellation_signal stop;
        error_code ended;
        multi_lock{a, b, c}.async_lock(
            asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, hold) { ended = ec; }));
        co_await expect([&] { return listening("b"); }, "it waits for b");
        stop.emit(asio::cancellation_type::terminal);
        co_await expect([&] { return ended == asio::error::operation_aborted; }, "it is told");
        co_await other.async_unlock();
        co_await expect([&] { return all_free(); }, "nothing is left");
    });
}

TEST_F(multi_lock_test, one_taken_away_is_the_loss_of_all) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await async_lock_all({.lease = 1s}, a, b, c);
        raw.command({"DEL", "b"});
        const auto [ec] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_FALSE(h.owns_lock());
        co_await expect([&] { return all_free(); }, "nothing is left");
    });
}

TEST_F(multi_lock_test, a_body_runs_under_all_of_them) {
    run([&]() -> asio::awaitable<void> {
        auto body = [this](hold& h) -> asio::awaitable<bool> {
            co_return h.owns_lock() && raw.exists("a") && raw.exists("b");
        };
        const bool held = co_await with_lock(multi_lock{b, a}, body);
        EXPECT_TRUE(held);
        EXPECT_FALSE(raw.exists("a") || raw.exists("b"));
    });
}

TEST_F(multi_lock_test, status_and_force_are_of_all) {
    run([&]() -> asio::awaitable<void> {
        const multi_lock all{a, b};
        lock_status s = co_await all.async_status();
        EXPECT_FALSE(s.locked);
        hold other = co_await mutex{two, "b"}.async_lock();
        s = co_await all.async_status();
        EXPECT_TRUE(s.locked);
        EXPECT_NE(s.holder.find(two.id()), std::string::npos) << s.holder;
        const bool was_held = co_await all.async_force_unlock();
        EXPECT_TRUE(was_held);
        EXPECT_FALSE(raw.exists("b"));
    });
}

// Everybody wants two of three locks, in any order: a circle of waiters would never end.
TEST_F(multi_lock_test, there_is_no_deadlock_and_no_overlap_whatever_the_order) {
    constexpr int workers = 8;
    constexpr int rounds = 25;
    std::array<int, 3> inside{};
    int ended = 0;
    std::mt19937 random{7};
    const auto work = [&](const client& mine) -> asio::awaitable<void> {
        const std::array<mutex, 3> locks{mutex{mine, "a"}, mutex{mine, "b"}, mutex{mine, "c"}};
        for (int i = 0; i < rounds; ++i) {
            const std::size_t first = random() % 3;
            const std::size_t second = (first + 1 + random() % 2) % 3;
            hold h = co_await async_lock_all(locks[first], locks[second]);
            EXPECT_EQ(++inside[first], 1);
            EXPECT_EQ(++inside[second], 1);
            co_await pass(std::chrono::milliseconds{random() % 2});
            --inside[first];
            --inside[second];
            co_await h.async_unlock();
        }
        ++ended;
    };
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < workers; ++i) {
            asio::co_spawn(io, work(i % 2 == 0 ? one : two), asio::detached);
        }
        co_await expect([&] { return ended == workers; }, "all came to their end");
    });
}

TEST_F(multi_lock_test, of_two_servers_of_which_one_is_dead_keeps_nothing) {
    cli::private_redis second{with_conch_user({})};
    raw_client raw_second{second.socket_path()};
    client there{io, settings_for(second.socket_path())};
    run([&]() -> asio::awaitable<void> {
        const mutex far{there, "far"};
        hold h = co_await async_lock_all(a, far);
        EXPECT_TRUE(raw.exists("a") && raw_second.exists("far"));
        co_await h.async_unlock();
        second.kill();
        const auto [ec, none] = co_await multi_lock{a, far}.async_try_lock(as_result);
        EXPECT_EQ(ec, errc::not_connected) << ec.message();
        EXPECT_FALSE(none);
        co_await expect([&] { return !raw.exists("a"); }, "a is given back");
    });
}

TEST_F(multi_lock_test, thirty_one_locks_are_held_together_and_one_more_is_refused) {
    std::vector<mutex> locks;
    for (int i = 0; i < 32; ++i) {
        locks.emplace_back(i % 2 == 0 ? one : two, "l" + std::to_string(i));
    }
    std::vector<std::reference_wrapper<const mutex>> names{locks.begin(), locks.end()};
    try {
        const multi_lock too_many{names};
        ADD_FAILURE() << "32 are accepted";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "conch::multi_lock: there are more than 31 locks");
    }
    names.pop_back();
    const multi_lock all{names};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await all.async_lock();
        EXPECT_EQ(raw.dbsize(), 31);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        EXPECT_TRUE(all_free());
    });
}

TEST_F(multi_lock_test, what_can_not_be_one_lock_is_refused_before_anything_is_sent) {
    using list = std::vector<std::reference_wrapper<const mutex>>;
    EXPECT_THROW(multi_lock{list{}}, std::invalid_argument);
    EXPECT_THROW((multi_lock{a, a}), std::invalid_argument);
    const mutex same{one, "a"};
    EXPECT_THROW((multi_lock{a, same}), std::invalid_argument);
    const multi_lock inner{a, b};
    EXPECT_THROW((multi_lock{inner, c}), std::invalid_argument);
    const quorum_mutex quorum{{one}, "q"};
    EXPECT_THROW((multi_lock{quorum, c}), std::invalid_argument);
    owner me;
    run([&]() -> asio::awaitable<void> {
        const auto [ec, h] = co_await async_lock_all({.owner = &me}, a, b)(as_result);
        EXPECT_EQ(ec, errc::invalid_owner);
        EXPECT_FALSE(h);
    });
    EXPECT_EQ(one.stats().connects, 0u);
}

}  // namespace
