// SPDX-License-Identifier: BSL-1.0
// token_mutex on a real server, beside a second implementation of the same lock in plain commands.
#include "integration/fault_fixture.hpp"

#include <conch/conch.hpp>

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace {

using namespace conch;
using namespace conch::test;

const std::string channel = "conch_token_mutex_channel:{lock}";

/// As redis-py, redsync and many a script do it.
class plain_lock {
public:
    plain_lock(raw_client& raw, std::string token) : raw_{raw}, token_{std::move(token)} {}

    bool try_lock(const std::string& ms = "30000") {
        return !raw_.must({"SET", "lock", token_, "NX", "PX", ms}).is_nil();
    }
    bool unlock() {
        const std::string compare_and_delete =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end "
            "return 0";
        return raw_.must({"EVAL", compare_and_delete, "1", "lock", token_}).number == 1;
    }

private:
    raw_client& raw_;
    std::string token_;
};

using token_mutex_test = fault_test;

TEST_F(token_mutex_test, is_a_key_with_its_token_as_value) {
    client c{io, settings()};
    const token_mutex m{c, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock({.lease = 20s});
        EXPECT_EQ(raw.must({"TYPE", "lock"}).text, "string");
        const auto token = raw.get("lock");
        EXPECT_TRUE(token && token->starts_with(c.id() + ":")) << token.value_or("none");
        EXPECT_GT(raw.pttl("lock"), 10'000);
        EXPECT_LE(raw.pttl("lock"), 20'000);
        const lock_status s = co_await m.async_status();
        EXPECT_TRUE(s.locked);
        EXPECT_EQ(s.holder, token);
        EXPECT_EQ(s.depth, 1U);
        co_await h.async_extend(60s);
        EXPECT_GT(raw.pttl("lock"), 50'000);
        EXPECT_EQ(raw.get("lock"), token);
        co_await h.async_unlock();
        EXPECT_FALSE(raw.exists("lock"));
    });
    expect_nothing_left({&c});
}

TEST_F(token_mutex_test, and_a_second_implementation_lose_no_update_of_each_other) {
    constexpr int each = 60;
    int unprotected = 0;
    std::atomic<bool> inside{false};
    const auto step = [&] {
        EXPECT_FALSE(inside.exchange(true)) << "two at a time";
        const int seen = unprotected;
        std::this_thread::yield();
        unprotected = seen + 1;
        inside = false;
    };
    std::thread other{[&] {
        raw_client own{server.socket_path()};
        plain_lock lock{own, "other"};
        for (int i = 0; i < each;) {
            if (lock.try_lock()) {
                step();
                EXPECT_TRUE(lock.unlock());
                ++i;
            }
        }
    }};
    config quick = settings();
    quick.max_poll_interval = 20ms;
    client c{io, quick};
    const token_mutex m{c, "lock"};
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < each; ++i) {
            hold h = co_await m.async_lock();
            step();
            co_await h.async_unlock();
        }
    });
    other.join();
    EXPECT_EQ(unprotected, 2 * each);
}

TEST_F(token_mutex_test, notices_a_release_that_nobody_tells_of) {
    config c = settings();
    c.max_poll_interval = 100ms;
    client redis{io, c};
    const token_mutex m{redis, "lock"};
    plain_lock other{raw, "other"};
    ASSERT_TRUE(other.try_lock("600000"));
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().busy >= 2; })) << "it listens, and sleeps";
    EXPECT_FALSE(a.done());
    EXPECT_TRUE(other.unlock());
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    EXPECT_GE(redis.stats().wakes_by_poll, 1U);
}

TEST_F(token_mutex_test, of_two_clients_wake_each_other_by_message) {
    client one{io, push_only("one")};
    client two{io, push_only("two")};
    run([&]() -> asio::awaitable<void> {
        const token_mutex first{one, "lock"};
        const token_mutex second{two, "lock"};
        hold h = co_await first.async_lock({.lease = 600s});
        lock_attempt a = start_lock(second);
        const bool listens = co_await when([&] { return raw.subscribers(channel) == 1; });
        EXPECT_TRUE(listens);
        co_await h.async_unlock();
        const bool granted = co_await when([&] { return a.done(); });
        EXPECT_TRUE(granted);
        EXPECT_EQ(two.stats().wakes_by_message, 1U);
        EXPECT_EQ(two.stats().wakes_by_poll, 0U);
    });
}

TEST_F(token_mutex_test, waits_for_a_holder_without_expiry) {
    config c = settings();
    c.max_poll_interval = 50ms;
    client redis{io, c};
    raw.must({"SETNX", "lock", "forgotten"});
    lock_attempt a = start_lock(token_mutex{redis, "lock"});
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().wakes_by_poll >= 3; }));
    EXPECT_FALSE(a.done());
    EXPECT_EQ(raw.get("lock"), "forgotten");
    raw.must({"DEL", "lock"});
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec());
}

TEST_F(token_mutex_test, is_renewed_and_its_loss_is_told) {
    client c{io, settings()};
    const token_mutex m{c, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock({.lease = 300ms});
        const bool renewed = co_await when([&] { return c.stats().renewals >= 3; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
        raw.must({"SET", "lock", "a thief", "PX", "60000"});
        const auto [why] = co_await h.async_wait_lost(as_result);
        EXPECT_EQ(why, errc::lock_lost);
        EXPECT_EQ(raw.get("lock"), "a thief") << "it is not ours to delete";
    });
}

TEST_F(token_mutex_test, a_forced_release_names_the_holder_that_it_read) {
    client c{io, settings()};
    const token_mutex m{c, "lock"};
    plain_lock other{raw, "other"};
    ASSERT_TRUE(other.try_lock());
    run([&]() -> asio::awaitable<void> {
        const bool was_held = co_await m.async_force_unlock();
        EXPECT_TRUE(was_held);
        EXPECT_FALSE(raw.exists("lock"));
        const bool again = co_await m.async_force_unlock();
        EXPECT_FALSE(again);
    });
}

TEST_F(token_mutex_test, the_key_of_another_kind_of_lock_is_refused) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "lock"}.async_lock();
        const token_mutex m{c, "lock"};
        const auto [waits, none] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(waits, errc::wrong_type);
        const auto [tries, nothing] = co_await m.async_try_lock({}, as_result);
        EXPECT_FALSE(tries) << "SET NX says no more than that it is there";
        EXPECT_FALSE(nothing);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(token_mutex_test, takes_fencing_tokens_that_grow) {
    client c{io, settings()};
    const token_mutex m{c, "lock", {.fenced = true}};
    run([&]() -> asio::awaitable<void> {
        std::uint64_t last = 0;
        for (int i = 0; i < 3; ++i) {
            hold h = co_await m.async_lock();
            EXPECT_GT(h.fence(), last);
            last = h.fence();
            co_await h.async_unlock();
        }
    });
}

TEST_F(token_mutex_test, goes_wherever_a_mutex_goes) {
    client c{io, settings()};
    const token_mutex m{c, "lock"};
    run([&]() -> asio::awaitable<void> {
        bool ran = false;
        co_await with_lock(m, {}, [&](hold&) -> asio::awaitable<void> {
            ran = raw.must({"TYPE", "lock"}).text == "string";
            co_return;
        });
        EXPECT_TRUE(ran);
        EXPECT_FALSE(raw.exists("lock"));
    });
}

TEST_F(token_mutex_test, bad_names_are_refused_by_its_own_name) {
    client c{io, settings()};
    try {
        const token_mutex m{c, ""};
        FAIL() << "an empty name";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "conch::token_mutex: the name is empty");
    }
}

TEST_F(token_mutex_test, serves_threads_too) {
    blocking_client redis{settings()};
    blocking_mutex m{redis, token_mutex{redis.async(), "lock"}};
    const std::lock_guard guard{m};
    EXPECT_EQ(raw.must({"TYPE", "lock"}).text, "string");
    EXPECT_TRUE(m.owns_lock());
    EXPECT_FALSE(plain_lock(raw, "other").try_lock());
}

// Each reply cut off after each of its bytes: the acquire, the renewal and the release that follow
// are each done once, or again without harm.
TEST_F(token_mutex_test, replies_lost_at_each_step_harm_nobody) {
    client c{io, through()};
    run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
    const token_mutex m{c, "lock"};
    for (std::size_t bytes = 0; bytes < 12; ++bytes) {
        wire.truncate_replies(bytes);
        lock_attempt a = start_lock(m);
        ASSERT_TRUE(run_until(io, [&] { return a.done(); })) << bytes << " bytes";
        EXPECT_FALSE(a.ec()) << a.ec().message();
        EXPECT_TRUE(raw.get("lock")->starts_with(c.id()));
        EXPECT_LE(a.value().remaining(), std::chrono::milliseconds{raw.pttl("lock")})
            << "a deadline behind the key's";
        wire.truncate_replies(bytes);
        plain_attempt e = start_extend(a.value(), 60s);
        ASSERT_TRUE(run_until(io, [&] { return e.done(); })) << bytes << " bytes";
        EXPECT_FALSE(e.ec()) << e.ec().message();
        EXPECT_LE(a.value().remaining(), std::chrono::milliseconds{raw.pttl("lock")});
        wire.truncate_replies(bytes);
        plain_attempt u = start_unlock(a.value());
        ASSERT_TRUE(run_until(io, [&] { return u.done(); })) << bytes << " bytes";
        EXPECT_FALSE(u.ec()) << u.ec().message();
        EXPECT_FALSE(raw.exists("lock"));
    }
    EXPECT_GE(c.stats().connection_losses, 6U);
    expect_nothing_left({&c});
}

}  // namespace
