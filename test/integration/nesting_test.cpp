// SPDX-License-Identifier: BSL-1.0
// Re-entrancy by owner: its levels share one field, one deadline and one fate.
#include "support/redis_test.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class nesting_test : public redis_test {
protected:
    /// The count in the hash: 0 if there is no key, -1 if it is no single field.
    int depth(const std::string& name) {
        const auto fields = raw.hgetall(name);
        if (fields.empty()) {
            return 0;
        }
        return fields.size() == 1 ? std::stoi(fields.begin()->second) : -1;
    }
};

TEST_F(nesting_test, acquisitions_of_one_owner_nest_in_one_field) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "nested"};
        const owner me;
        hold outer = co_await m.async_lock({.owner = &me});
        EXPECT_EQ(depth("nested"), 1);
        const std::string field = raw.hgetall("nested").begin()->first;
        hold inner = co_await m.async_lock({.owner = &me});
        EXPECT_EQ(depth("nested"), 2);
        EXPECT_EQ(raw.hgetall("nested").begin()->first, field);
        co_await inner.async_unlock();
        EXPECT_EQ(depth("nested"), 1);
        EXPECT_TRUE(outer.owns_lock());
        co_await outer.async_unlock();
        EXPECT_FALSE(raw.exists("nested"));
    });
}

TEST_F(nesting_test, a_try_of_the_same_owner_nests_too) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "nested"};
        const owner me;
        const hold outer = co_await m.async_lock({.owner = &me});
        const hold inner = co_await m.async_try_lock({.owner = &me});
        EXPECT_TRUE(inner.owns_lock());
        EXPECT_EQ(depth("nested"), 2);
    });
}

TEST_F(nesting_test, two_owners_exclude_each_other) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "apart"};
        const owner one;
        const owner other;
        hold h = co_await m.async_lock({.owner = &one});
        const hold second = co_await m.async_try_lock({.owner = &other});
        EXPECT_FALSE(second);
        const hold third = co_await m.async_try_lock();
        EXPECT_FALSE(third) << "an acquisition without owner nested in another";
        co_await h.async_unlock();
    });
}

TEST_F(nesting_test, acquisitions_without_an_owner_never_nest) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "apart"};
        const hold h = co_await m.async_lock();
        const auto [ec, second] = co_await m.async_lock({.wait = 20ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(second);
    });
}

TEST_F(nesting_test, the_same_owner_on_another_client_does_not_nest) {
    client a{io, settings()};
    client b{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "apart"};
        const mutex of_b{b, "apart"};
        const owner me;
        const hold h = co_await of_a.async_lock({.owner = &me});
        const hold second = co_await of_b.async_try_lock({.owner = &me});
        EXPECT_FALSE(second);
    });
}

TEST_F(nesting_test, levels_may_be_released_in_any_order) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "any-order"};
        const owner me;
        hold first = co_await m.async_lock({.owner = &me});
        hold second = co_await m.async_lock({.owner = &me});
        hold third = co_await m.async_lock({.owner = &me});
        EXPECT_EQ(depth("any-order"), 3);
        co_await first.async_unlock();
        EXPECT_EQ(depth("any-order"), 2);
        EXPECT_TRUE(second.owns_lock());
        EXPECT_TRUE(third.owns_lock());
        co_await third.async_unlock();
        EXPECT_EQ(depth("any-order"), 1);
        co_await second.async_unlock();
        EXPECT_FALSE(raw.exists("any-order"));
    });
}

TEST_F(nesting_test, the_destructor_of_an_inner_hold_releases_one_level) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "scoped"};
        const owner me;
        const hold outer = co_await m.async_lock({.owner = &me});
        {
            const hold inner = co_await m.async_lock({.owner = &me});
            EXPECT_EQ(depth("scoped"), 2);
        }
        const bool back = co_await when([&] { return depth("scoped") == 1; });
        EXPECT_TRUE(back);
        EXPECT_TRUE(outer.owns_lock());
    });
}

TEST_F(nesting_test, a_nested_acquisition_does_not_wait_behind_local_waiters) {
    client c{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "queue"};
        const owner me;
        hold outer = co_await m.async_lock({.owner = &me});
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            EXPECT_FALSE(outer);
            co_await h.async_unlock();
        };
        group.spawn(waiter());
        const bool queued = co_await when([&] { return c.stats().waiting_now == 1; });
        EXPECT_TRUE(queued);
        hold inner = co_await m.async_lock({.owner = &me});
        EXPECT_EQ(depth("queue"), 2);
        co_await inner.async_unlock();
        co_await outer.async_unlock();
        co_await group.join();
    });
}

TEST_F(nesting_test, the_loss_of_the_outer_hold_fails_the_inner_acquisition_and_makes_no_key) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lost"};
        const owner me;
        hold outer = co_await m.async_lock({.owner = &me});
        raw.must({"DEL", "lost"});
        const auto [ec, inner] = co_await m.async_lock({.owner = &me}, as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_FALSE(inner);
        EXPECT_FALSE(raw.exists("lost"));
        const auto [lost] = co_await outer.async_wait_lost(as_result);
        EXPECT_EQ(lost, errc::lock_lost);
    });
}

TEST_F(nesting_test, the_loss_of_the_lock_is_the_loss_of_every_level) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lost"};
        const owner me;
        hold outer = co_await m.async_lock({.lease = 3s, .owner = &me});
        hold inner = co_await m.async_lock({.lease = 3s, .owner = &me});
        raw.must({"DEL", "lost"});
        const auto [of_inner] = co_await inner.async_wait_lost(as_result);
        EXPECT_EQ(of_inner, errc::lock_lost);
        const auto [of_outer] = co_await outer.async_wait_lost(as_result);
        EXPECT_EQ(of_outer, errc::lock_lost);
        const auto [verdict] = co_await inner.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lock_lost);
        EXPECT_FALSE(raw.exists("lost")) << "releasing a level must not create the key";
    });
}

TEST_F(nesting_test, an_owner_starts_afresh_after_its_last_level) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "again"};
        const owner me;
        hold h = co_await m.async_lock({.owner = &me});
        const std::string before = raw.hgetall("again").begin()->first;
        co_await h.async_unlock();
        hold next = co_await m.async_lock({.owner = &me});
        EXPECT_NE(raw.hgetall("again").begin()->first, before);
        EXPECT_EQ(depth("again"), 1);
        co_await next.async_unlock();
    });
}

TEST_F(nesting_test, every_level_is_kept_by_renewal) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "kept"};
        const owner me;
        hold outer = co_await m.async_lock({.lease = 900ms, .owner = &me});
        hold inner = co_await m.async_lock({.lease = 900ms, .owner = &me});
        const auto before = c.stats().renewals;
        const bool renewed = co_await when([&] { return c.stats().renewals >= before + 4; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(outer.owns_lock());
        EXPECT_TRUE(inner.owns_lock());
        EXPECT_EQ(depth("kept"), 2);
        co_await outer.async_unlock();
        co_await inner.async_unlock();
        EXPECT_FALSE(raw.exists("kept"));
    });
}

}  // namespace
