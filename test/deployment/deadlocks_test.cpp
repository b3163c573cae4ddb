// SPDX-License-Identifier: BSL-1.0
// Owners that wait for each other, where locks are on several masters, or a replica takes over.
#include "deployment/cluster_migration.hpp"
#include "deployment/sentinel_test.hpp"
#include "support/attempt.hpp"

#include <optional>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

config looking(config c) {
    c.deadlock_detection = true;
    c.max_poll_interval = 1s;
    return c;
}

/// A machine may stand still, a server may have to be found.
constexpr auto in_time = 60s;

/// Two owners of two clients, each of which waits for what the other holds.
struct circle {
    circle(const client& one, const client& two, std::string a_name, std::string b_name)
        : a{one, a_name}, b{two, b_name}, a_of_two{two, a_name}, b_of_one{one, b_name} {}

    asio::awaitable<void> first_waits() {
        held_a = co_await a.async_lock(of(first));
        held_b = co_await b.async_lock(of(second));
        older.emplace([&](auto&& token) { b_of_one.async_lock(of(first), std::move(token)); });
        co_await pass(10ms);  // else both may begin in the same millisecond
    }
    asio::awaitable<void> is_told_to_who_closes_it() {
        attempt<hold> younger{
            [&](auto&& token) { a_of_two.async_lock(of(second), std::move(token)); }};
        const bool ended = co_await when([&] { return younger.done() || older->done(); }, in_time);
        EXPECT_TRUE(ended);
        EXPECT_EQ(younger.ec(), errc::deadlock) << younger.ec().message();
        held_b.release();
        const bool went_on = co_await when([&] { return older->done(); }, in_time);
        EXPECT_TRUE(went_on);
        EXPECT_FALSE(older->ec()) << older->ec().message();
        EXPECT_TRUE(held_a.owns_lock());
    }
    static lock_options of(const owner& o) { return {.lease = 60s, .owner = &o}; }

    const owner first{}, second{};
    const mutex a, b, a_of_two, b_of_one;
    hold held_a{}, held_b{};
    std::optional<attempt<hold>> older{};
};

using cluster_deadlocks = cluster_migration;

TEST_F(cluster_deadlocks, slow_over_two_masters_are_told) {
    const client one{io, looking(group.settings("one"))};
    const client two{io, looking(group.settings("two"))};
    run([&]() -> asio::awaitable<void> {
        circle c{one, two, group.name_in(0, "a"), group.name_in(1, "b")};
        co_await c.first_waits();
        co_await c.is_told_to_who_closes_it();
    });
}

TEST_F(cluster_deadlocks, slow_are_told_once_a_hash_slot_has_moved) {
    const client one{io, looking(group.settings("one"))};
    const client two{io, looking(group.settings("two"))};
    run([&]() -> asio::awaitable<void> {
        circle c{one, two, named("a"), group.name_in(to, "b")};
        co_await c.first_waits();
        const std::string record = "conch_wait:" + named("a") + ":" + one.id() + ":1";
        const bool told = co_await when([&] { return group.raw(from).exists(record); });
        EXPECT_TRUE(told);
        begin();
        move(named("a"));
        move(record);
        const auto imported = [&] {
            auto&& at = group.raw(to);
            at.must({"ASKING"});
            return at.get(record);
        };
        const auto before = imported();
        const bool sent_on = co_await when([&] { return imported() != before; });
        EXPECT_TRUE(sent_on);
        end();
        co_await c.is_told_to_who_closes_it();
    });
}

using sentinel_deadlocks = sentinel_test;

TEST_F(sentinel_deadlocks, slow_are_told_by_the_next_master) {
    const client one{io, looking(group.settings("one"))};
    const client two{io, looking(group.settings("two"))};
    run([&]() -> asio::awaitable<void> {
        circle c{one, two, "a", "b"};
        co_await c.first_waits();
        const std::string record = "conch_wait:{a}:" + one.id() + ":1";
        const bool told = co_await when([&] { return group.raw(0).exists(record); });
        EXPECT_TRUE(told);
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        co_await next_master(0);
        co_await c.is_told_to_who_closes_it();
    });
}

}  // namespace
