// SPDX-License-Identifier: BSL-1.0
// Locks with fencing tokens, which have two keys, while their slot moves to another node.
#include "deployment/cluster_migration.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(cluster_migration, slow_a_lock_and_its_fencing_token_may_be_apart) {
    run([&]() -> asio::awaitable<void> {
        for (const bool lock_first : {false, true}) {
            const std::string name = named(lock_first ? "lock" : "token");
            const mutex of_a{a, name, {.fenced = true}};
            const mutex of_b{b, name, {.fenced = true}};
            hold h = co_await of_a.async_lock({.lease = 60s});
            const std::uint64_t first = h.fence();
            lock_attempt waiting = start_lock(of_b);
            co_await listens(name);
            begin();
            move(lock_first ? name : fence_key_of(name));
            plain_attempt unlocked = start_unlock(h);
            co_await done(unlocked, "one key is all that a release needs");
            end();
            co_await done(waiting, "woken");
            const std::uint64_t second = waiting.value().fence();
            EXPECT_GT(second, first);
            EXPECT_EQ(group.raw(to).get(fence_key_of(name)), std::to_string(second));
            co_await waiting.value().async_unlock();
            h = co_await of_a.async_lock();
            EXPECT_GT(h.fence(), second);
            co_await h.async_unlock();
            co_await group.settle();  // before 7.0 a next move may leave it to nobody
            group.migrate(slot, from);
            co_await group.settle();
        }
    });
}

TEST_F(cluster_migration, slow_who_holds_a_lock_is_released_by_force_where_its_token_is_apart) {
    run([&]() -> asio::awaitable<void> {
        for (const bool lock_first : {false, true}) {
            const std::string name = named(lock_first ? "lock" : "token");
            const mutex of_a{a, name, {.fenced = true}};
            const mutex of_b{b, name, {.fenced = true}};
            hold h = co_await of_a.async_lock({.lease = 9s});
            begin();
            move(lock_first ? name : fence_key_of(name));
            const bool forced = co_await of_b.async_force_unlock();
            EXPECT_TRUE(forced);
            const auto [why] = co_await h.async_wait_lost(as_result);
            EXPECT_EQ(why, errc::lock_lost);
            end();
            co_await group.settle();  // before 7.0 a next move may leave it to nobody
            group.migrate(slot, from);
            co_await group.settle();
        }
    });
}

// Redis wants both keys of a script on one node, and the key of a free lock is on none.
TEST_F(cluster_migration, slow_a_free_lock_with_fencing_tokens_waits_for_the_end_of_a_move) {
    config settings = group.settings("c");
    settings.operation_timeout = 500ms;
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        const std::string name = named("free");
        const mutex fenced{c, name, {.fenced = true}};
        hold h = co_await fenced.async_lock();
        const std::uint64_t first = h.fence();
        co_await h.async_unlock();
        begin();
        const auto [ec, none] = co_await fenced.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::server_unavailable);
        EXPECT_EQ(c.last_server_error().find("TRYAGAIN"), 0u) << c.last_server_error();
        const mutex of_a{a, name, {.fenced = true}};
        lock_attempt waiting = start_lock(of_a);
        hold plain = co_await mutex{c, named("plain")}.async_lock();
        co_await plain.async_unlock();
        EXPECT_FALSE(waiting.done());
        move(fence_key_of(name));
        end();
        co_await done(waiting, "granted behind the move");
        EXPECT_GT(waiting.value().fence(), first);
        co_await waiting.value().async_unlock();
    });
}

}  // namespace
