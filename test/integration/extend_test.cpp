// SPDX-License-Identifier: BSL-1.0
// What may be done to a lease while it runs: extended, never shortened, repaired.
#include "support/redis_test.hpp"

#include <array>

namespace {

using namespace conch;
using namespace conch::test;

using extend_test = redis_test;

TEST_F(extend_test, an_extended_lease_ends_later) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "longer"};
        hold h = co_await m.async_lock({.lease = 5s, .renew = false});
        const time_point before = h.valid_until();
        co_await h.async_extend(20s);
        EXPECT_GT(h.valid_until(), before + 10s);
        EXPECT_GT(raw.pttl("longer"), 10'000);
        EXPECT_LE(raw.pttl("longer"), 20'000);
    });
}

TEST_F(extend_test, extending_never_shortens) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "longer"};
        hold h = co_await m.async_lock({.lease = 30s, .renew = false});
        const time_point before = h.valid_until();
        co_await h.async_extend(1s);
        EXPECT_GE(h.valid_until(), before);
        EXPECT_GT(raw.pttl("longer"), 20'000);
    });
}

TEST_F(extend_test, a_lease_that_is_no_lease_is_refused_and_the_hold_goes_on) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "longer"};
        hold h = co_await m.async_lock({.renew = false});
        const std::array<duration, 3> no_leases{0s, -1s, 24h * 400};
        for (const duration bad : no_leases) {
            const auto [ec] = co_await h.async_extend(bad, as_result);
            EXPECT_EQ(ec, errc::invalid_lease) << bad.count();
        }
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(extend_test, a_hold_that_is_no_more_can_not_be_extended) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "longer"};
        hold h = co_await m.async_lock();
        raw.must({"DEL", "longer"});
        const auto [lost] = co_await h.async_extend(20s, as_result);
        EXPECT_EQ(lost, errc::lock_lost);
        EXPECT_FALSE(raw.exists("longer")) << "extending must not create the key";
        hold empty;
        const auto [none] = co_await empty.async_extend(20s, as_result);
        EXPECT_EQ(none, errc::not_owner);
    });
}

TEST_F(extend_test, a_nested_acquisition_with_a_short_lease_does_not_shorten_the_ttl) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "nested"};
        const owner me;
        hold outer = co_await m.async_lock({.lease = 30s, .owner = &me});
        hold inner = co_await m.async_lock({.lease = 1s, .owner = &me});
        EXPECT_GT(raw.pttl("nested"), 20'000);
        co_await inner.async_unlock();
        EXPECT_GT(raw.pttl("nested"), 20'000);
        EXPECT_GT(outer.remaining(), 20s);
        co_await outer.async_unlock();
    });
}

TEST_F(extend_test, renewal_lowers_a_ttl_that_someone_raised_beyond_all_that_was_asked_for) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "raised"};
        const hold h = co_await m.async_lock({.lease = 900ms});
        raw.must({"PEXPIRE", "raised", "3600000"});
        const bool lowered = co_await when([&] { return raw.pttl("raised") <= 900; });
        EXPECT_TRUE(lowered) << "it would stay so long if its holder died";
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(extend_test, the_ttl_of_a_fixed_lease_is_lowered_too) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const token_mutex m{c, "raised"};
        const hold h = co_await m.async_lock({.lease = 3s, .renew = false});
        raw.must({"PEXPIRE", "raised", "3600000"});
        const bool lowered = co_await when([&] { return raw.pttl("raised") <= 3000; });
        EXPECT_TRUE(lowered);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(extend_test, renewal_repairs_a_key_that_lost_its_ttl) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "persisted"};
        const hold h = co_await m.async_lock({.lease = 900ms});
        raw.must({"PERSIST", "persisted"});
        EXPECT_EQ(raw.pttl("persisted"), -1);
        const bool repaired = co_await when([&] { return raw.pttl("persisted") > 0; });
        EXPECT_TRUE(repaired);
        EXPECT_TRUE(h.owns_lock());
    });
}

// As a lock of Redisson that somebody persisted.
TEST_F(extend_test, a_foreign_lock_without_ttl_is_locked_and_polled) {
    config c_settings = settings();
    c_settings.max_poll_interval = 50ms;
    client c{io, c_settings};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "eternal"};
        raw.must({"HSET", "eternal", owner_of_redisson, "1"});
        const hold tried = co_await m.async_try_lock();
        EXPECT_FALSE(tried);
        bool removed = false;
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold h = co_await m.async_lock();
            EXPECT_TRUE(removed) << "a key without expiry was taken for a free lock";
        };
        group.spawn(waiter());
        const bool polled = co_await when([&] { return c.stats().wakes_by_poll >= 3; });
        EXPECT_TRUE(polled);
        removed = true;
        raw.must({"DEL", "eternal"});  // and no message
        co_await group.join();
    });
}

}  // namespace
