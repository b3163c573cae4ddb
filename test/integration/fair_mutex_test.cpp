// SPDX-License-Identifier: BSL-1.0
// fair_mutex on a real server: first come, first served, across clients.
#include "integration/fault_fixture.hpp"
#include "wire/script.hpp"

#include <conch/conch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

const std::string line_key = "redisson_lock_queue:{lock}";
const std::string times_key = "redisson_lock_timeout:{lock}";
const std::string wishes_key = "conch_fair_lease:{lock}";

class fair_mutex_test : public fault_test {
protected:
    template <typename Condition>
    asio::awaitable<void> until(Condition condition) {
        asio::steady_timer pause{io};
        while (!condition()) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }
    std::int64_t in_line() { return raw.must({"LLEN", line_key}).number; }
    /// Waits in line, with `before` others before it; is served and lets the next have the lock.
    asio::awaitable<void> stand(const mutex& m, int number, std::int64_t before) {
        m.async_lock([this, number](error_code ec, hold h) {
            EXPECT_FALSE(ec) << ec.message();
            served.push_back(number);
            fences.push_back(h.fence());
            h.release();
        });
        co_await until([&] { return in_line() == before + 1; });
    }
    asio::awaitable<void> all_served(std::size_t n) {
        co_await until([&] { return served.size() == n; });
    }
    /// Gets its place from the server, for so long, and never comes back.
    void stand_dead(std::chrono::milliseconds place) {
        const std::string body{wire::get_script(wire::script_id::fair_acquire).body};
        raw.must({"EVAL", body, "4", "lock", line_key, times_key, wishes_key, owner_of_redisson,
                  "30000", "0", std::to_string(place.count()), "1"});
    }
    /// The same of somebody who lives, and lets the lock lie.
    void stand_idle(std::chrono::milliseconds place) {
        const std::string now = raw.must({"TIME"}).items.at(0).text;
        raw.must({"RPUSH", line_key, owner_of_redisson});
        raw.must({"ZADD", times_key, std::to_string(std::stoll(now) * 1000 + place.count()),
                  owner_of_redisson});
    }
    void step_out() {
        raw.must({"LREM", line_key, "0", owner_of_redisson});
        raw.must({"ZREM", times_key, owner_of_redisson});
    }
    config polling(std::chrono::milliseconds interval, const std::string& client_name) const {
        config c = settings(client_name);
        c.max_poll_interval = interval;
        return c;
    }
    std::size_t keys() { return static_cast<std::size_t>(raw.dbsize()); }

    client one{io, push_only("one")};
    client two{io, push_only("two")};
    client three{io, push_only("three")};
    fair_mutex m1{one, "lock"};
    fair_mutex m2{two, "lock"};
    fair_mutex m3{three, "lock"};
    std::vector<int> served{};
    std::vector<std::uint64_t> fences{};
};

TEST_F(fair_mutex_test, is_kept_as_redisson_keeps_it) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock({.lease = 20s});
        EXPECT_EQ(raw.hgetall("lock"),
                  (std::map<std::string, std::string>{{one.id() + ":1", "1"}}));
        EXPECT_EQ(keys(), 1u) << "nobody waits";
        co_await stand(m2, 2, 0);
        const std::string field = two.id() + ":1";
        EXPECT_EQ(raw.must({"LINDEX", line_key, "0"}).text, field);
        const std::string score = raw.must({"ZSCORE", times_key, field}).text;
        const std::string now = raw.must({"TIME"}).items.at(0).text;
        EXPECT_NEAR(std::stod(score) / 1000 - std::stod(now), 180, 5) << "three poll intervals";
        EXPECT_TRUE(raw.hgetall(wishes_key).contains(field));
        for (const std::string& key : {line_key, times_key, wishes_key}) {
            EXPECT_GT(raw.pttl(key), 180'000) << key;
        }
        co_await h.async_unlock();
        co_await all_served(1);
        co_await until([&] { return keys() == 0; });
    });
}

TEST_F(fair_mutex_test, serves_the_waiters_of_three_clients_in_their_order) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        const std::vector<const mutex*> order{&m2, &m1, &m3, &m1, &m2, &m2, &m3, &m1};
        std::vector<int> expected;
        for (const mutex* m : order) {
            const int number = static_cast<int>(expected.size());
            co_await stand(*m, number, number);
            expected.push_back(number);
        }
        co_await h.async_unlock();
        co_await all_served(order.size());
        EXPECT_EQ(served, expected);
    });
    EXPECT_EQ(one.stats().wakes_by_poll + two.stats().wakes_by_poll, 0u);
}

TEST_F(fair_mutex_test, a_hand_off_costs_no_script_of_the_waiter) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        co_await h.async_unlock();  // from here on the server knows the scripts
        h = co_await m1.async_lock();
        co_await stand(m2, 2, 0);
        co_await until([&] { return two.stats().busy == 2; });
        raw.reset_calls();
        co_await h.async_unlock();
        co_await all_served(1);
        co_await until([&] { return keys() == 0; });
        EXPECT_EQ(raw.calls("evalsha") + raw.calls("eval"), 2u) << "two releases";
    });
}

TEST_F(fair_mutex_test, who_comes_again_and_again_needs_two_scripts_for_each_hold) {
    constexpr int rounds = 50;
    run([&]() -> asio::awaitable<void> {
        int running = 0;
        const auto loop = [&](const mutex& m, int n) -> asio::awaitable<void> {
            ++running;
            for (int i = 0; i < n; ++i) {
                hold h = co_await m.async_lock();
                co_await h.async_unlock();
            }
            --running;
        };
        for (const mutex* m : {&m1, &m2, &m3}) {
            co_await loop(*m, 1);
        }
        raw.reset_calls();
        for (const mutex* m : {&m1, &m2, &m3}) {
            asio::co_spawn(io, loop(*m, rounds), asio::detached);
        }
        co_await until([&] { return running == 0; });
    });
    const double each = static_cast<double>(raw.calls("evalsha")) / (3 * rounds);
    std::cout << "scripts for each hold: " << each << '\n';
    EXPECT_LT(each, 2.3);
}

TEST_F(fair_mutex_test, a_fence_comes_with_the_lock) {
    const fair_mutex f1{one, "lock", {.fenced = true}};
    const fair_mutex f2{two, "lock", {.fenced = true}};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await f1.async_lock();
        co_await stand(f2, 0, 0);
        co_await stand(m3, 1, 1);
        co_await stand(f1, 2, 2);
        co_await h.async_unlock();
        co_await all_served(3);
        EXPECT_GT(fences[0], h.fence());
        EXPECT_EQ(fences[1], 0u);
        EXPECT_GT(fences[2], fences[0]);
        EXPECT_EQ(std::to_string(fences[2]), raw.get(fence_key_of("lock")));
    });
}

TEST_F(fair_mutex_test, who_gives_up_leaves_the_line) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        hold nothing = co_await m2.async_try_lock({.wait = 30ms});
        EXPECT_FALSE(nothing);
        co_await until([&] { return in_line() == 0 && keys() == 1; });
        nothing = co_await m2.async_try_lock();
        EXPECT_FALSE(nothing);
        EXPECT_EQ(keys(), 1u) << "who doesn't wait gets no place";
        co_await h.async_unlock();
    });
}

TEST_F(fair_mutex_test, a_try_does_not_pass_the_line) {
    client watcher{io, polling(50ms, "watcher")};
    run([&]() -> asio::awaitable<void> {
        stand_dead(30s);  // has the lock
        raw.must({"DEL", "lock"});
        raw.must({"EVAL", "return redis.call('hset', KEYS[1], ARGV[1], '1')", "1", "lock", "x"});
        raw.must({"PEXPIRE", "lock", "30000"});
        stand_dead(30s);
        raw.must({"DEL", "lock"});
        hold h = co_await m1.async_try_lock();
        EXPECT_FALSE(h) << "the lock is free, but somebody stands in line";
    });
}

TEST_F(fair_mutex_test, a_dead_waiter_is_skipped_within_three_poll_intervals) {
    constexpr auto interval = 300ms;
    client patient{io, polling(interval, "patient")};
    const fair_mutex m{patient, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        stand_dead(3 * interval);
        const auto began = clock::now();
        co_await stand(m, 1, 1);
        co_await h.async_unlock();
        co_await all_served(1);
        const auto waited = clock::now() - began;
        EXPECT_LT(waited, 3 * interval + 2s) << "the machine may be busy";
        EXPECT_GT(waited, 2 * interval) << "it was given the lock";
    });
}

TEST_F(fair_mutex_test,
       who_is_behind_somebody_that_lets_the_lock_lie_asks_once_each_poll_interval) {
    constexpr auto interval = 300ms;
    client patient{io, polling(interval, "patient")};
    client another{io, polling(interval, "another")};
    const fair_mutex of_patient{patient, "lock"};
    const fair_mutex of_another{another, "lock"};
    run([&]() -> asio::awaitable<void> {
        stand_idle(60s);
        co_await stand(of_patient, 1, 1);
        co_await stand(of_another, 2, 2);
        raw.reset_calls();
        const auto began = std::chrono::steady_clock::now();
        co_await pass(3s);
        const auto asked = static_cast<std::int64_t>(raw.calls("evalsha") + raw.calls("eval"));
        const auto polls = (std::chrono::steady_clock::now() - began) / (interval / 2);
        EXPECT_LE(asked, 2 * (polls + 2)) << "half an interval is the shortest";
        EXPECT_GE(patient.stats().wakes_by_poll, 2u);
        EXPECT_GE(another.stats().wakes_by_poll, 2u);
        EXPECT_FALSE(raw.exists("lock"));
        EXPECT_TRUE(served.empty()) << "it was passed";
        step_out();
        co_await all_served(2);
        EXPECT_EQ(served, (std::vector<int>{1, 2}));
    });
}

TEST_F(fair_mutex_test, who_is_behind_a_dead_waiter_hears_that_it_was_given_the_lock) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock({.lease = 60s});
        stand_dead(500ms);
        co_await stand(m2, 2, 1);
        const auto released = std::chrono::steady_clock::now();
        co_await h.async_unlock();
        co_await all_served(1);
        const auto took = std::chrono::steady_clock::now() - released;
        EXPECT_LT(took, 20s) << "it waited for the lease of the holder before";
    });
}

TEST_F(fair_mutex_test, a_place_outlives_the_connection) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        co_await stand(m2, 2, 0);
        co_await stand(m3, 3, 1);
        const std::uint64_t connects = two.stats().connects;
        EXPECT_GT(raw.kill_connections("two"), 0u);
        co_await until([&] {
            return two.stats().connects > connects && two.stats().subscriptions_now == 1 &&
                   raw.subscribers(channel_of("lock") + ':' + two.id() + ":1") == 1;
        });
        co_await h.async_unlock();
        co_await all_served(2);
        EXPECT_EQ(served, (std::vector<int>{2, 3}));
    });
}

TEST_F(fair_mutex_test, a_forced_release_serves_the_next_in_line) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        co_await stand(m2, 2, 0);
        const bool forced = co_await m3.async_force_unlock();
        EXPECT_TRUE(forced);
        co_await all_served(1);
        h.detach();
    });
}

TEST_F(fair_mutex_test, its_status_counts_the_waiters) {
    may_refuse = true;
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        co_await stand(m2, 2, 0);
        co_await stand(m2, 3, 1);
        const lock_status s = co_await m3.async_status({.clients = true});
        EXPECT_TRUE(s.locked);
        EXPECT_EQ(s.holder, one.id() + ":1");
        EXPECT_EQ(s.waiting_clients, 2u);
        co_await h.async_unlock();
        co_await all_served(2);
    });
}

TEST_F(fair_mutex_test, keys_of_another_kind_are_left_alone) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& key : {std::string{"lock"}, line_key, times_key, wishes_key}) {
            raw.must({"SET", key, "mine"});
            auto [ec, h] = co_await m1.async_lock({.wait = 1s}, asio::as_tuple(asio::deferred));
            EXPECT_EQ(ec, errc::wrong_type) << key;
            EXPECT_EQ(raw.get(key), "mine");
            EXPECT_EQ(keys(), 1u) << key;
            raw.must({"DEL", key});
        }
        hold h = co_await m1.async_lock();
        raw.must({"SET", line_key, "mine"});
        co_await h.async_unlock();
        EXPECT_FALSE(raw.exists("lock")) << "released nevertheless";
        EXPECT_EQ(raw.get(line_key), "mine");
    });
}

TEST_F(fair_mutex_test, a_mutex_of_the_same_name_excludes_it) {
    const mutex plain{two, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock();
        hold other = co_await plain.async_try_lock();
        EXPECT_FALSE(other);
        co_await h.async_unlock();
        h = co_await plain.async_lock();
        other = co_await m1.async_try_lock();
        EXPECT_FALSE(other);
        co_await h.async_unlock();
    });
}

TEST_F(fair_mutex_test, a_mutex_tells_nobody_of_its_release_and_a_poll_finds_it) {
    constexpr auto interval = 300ms;
    client patient{io, polling(interval, "patient")};
    const fair_mutex m{patient, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{one, "lock"}.async_lock({.lease = 60s});
        co_await stand(m, 1, 0);
        const std::string channel = channel_of("lock") + ':' + patient.id() + ":1";
        co_await until([&] { return raw.subscribers(channel) == 1; });
        const auto released = clock::now();
        co_await h.async_unlock();
        co_await all_served(1);
        EXPECT_LT(clock::now() - released, interval + 2s) << "the machine may be busy";
    });
    EXPECT_EQ(patient.stats().wakes_by_message, 0u);
    EXPECT_GE(patient.stats().wakes_by_poll, 1u);
}

TEST_F(fair_mutex_test, blocks_threads_too) {
    blocking_client redis{settings("blocking")};
    blocking_mutex m{redis, fair_mutex{redis.async(), "lock"}};
    m.lock();
    EXPECT_TRUE(raw.exists("lock"));
    m.unlock();
    EXPECT_FALSE(raw.exists("lock"));
}

}  // namespace
