// SPDX-License-Identifier: BSL-1.0
// Writers that become readers while the hash slot of their lock moves to another node. A node
// refuses a script with several keys of such a hash slot unless it has all of them: so a downgrade,
// which makes a key, has to wait until the move has ended.
#include "deployment/cluster_migration.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_downgrade : public cluster_migration {
protected:
    static plain_attempt start_downgrade(hold& h) {
        return plain_attempt{[&](auto token) { h.async_downgrade(std::move(token)); }};
    }
    /// The clients have sent so many scripts more.
    asio::awaitable<void> ask(std::uint64_t times) const {
        const auto sent = [this] { return a.stats().script_calls + b.stats().script_calls; };
        const std::uint64_t before = sent();
        const bool often = co_await when([&] { return sent() >= before + times; }, long_patience);
        EXPECT_TRUE(often) << "they have stopped asking";
    }
    void expect_nothing_left() {
        EXPECT_TRUE(group.node(from).keys_in(slot).empty());
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        for (const client* each : {&a, &b}) {
            const stats s = each->stats();
            EXPECT_EQ(s.lost_expired + s.lost_refused + s.lost_taken, 0u);
            EXPECT_EQ(s.holds_now, 0u);
        }
    }

    const std::string name = named("lock");
    const shared_mutex of_a{a, name};
    const shared_mutex of_b{b, name};
};

// Its key moves, or does not, before the writer becomes a reader.
class cluster_downgrade_on_the_way : public cluster_downgrade,
                                     public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(its_key, cluster_downgrade_on_the_way, testing::Bool());

TEST_P(cluster_downgrade_on_the_way, slow_is_done_when_the_slot_has_moved_and_no_writer_comes) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await of_a.async_lock({.lease = 6s});
        lock_attempt writer = start_lock(of_b.writer(), {.lease = 60s});
        const bool waits = co_await when([&] { return b.stats().subscriptions_now == 1; });
        EXPECT_TRUE(waits);
        begin();
        if (GetParam()) {
            move(name);
        }
        plain_attempt downgrade = start_downgrade(h);
        co_await ask(3);
        co_await renewed(a, 2);
        EXPECT_FALSE(downgrade.done()) << "no node has all of its keys: " << downgrade.ec();
        EXPECT_TRUE(h.owns_lock());
        end();
        co_await done(downgrade, "it has moved");
        EXPECT_EQ(group.raw(to).hgetall(name).at("mode"), "read");
        const lock_status seen = co_await of_a.async_status();
        EXPECT_TRUE(seen.shared);
        EXPECT_EQ(seen.depth, 1u);
        co_await renewed(a, 2);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(writer.done()) << "a writer came to a reader";
        co_await h.async_unlock();
        co_await done(writer, "woken");
        EXPECT_EQ(group.raw(to).hgetall(name).at("mode"), "write");
        co_await writer.value().async_unlock();
    });
    expect_nothing_left();
}

TEST_F(cluster_downgrade, slow_that_is_refused_for_too_long_leaves_a_writer_and_may_be_repeated) {
    config impatient = group.settings("impatient");
    impatient.operation_timeout = 500ms;
    client c{io, impatient};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await shared_mutex{c, name}.async_lock({.lease = 6s});
        begin();
        move(name);
        const auto [ec] = co_await h.async_downgrade(as_result);
        EXPECT_EQ(ec, errc::server_unavailable) << ec.message();
        co_await renewed(c, 2);
        EXPECT_TRUE(h.owns_lock());
        end();
        EXPECT_EQ(group.raw(to).hgetall(name).at("mode"), "write");
        co_await h.async_downgrade();
        hold none = co_await of_b.async_try_lock();
        EXPECT_FALSE(none);
        co_await renewed(c, 2);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        const hold next = co_await of_a.async_lock({.wait = long_patience});
        EXPECT_TRUE(next.owns_lock());
    });
    EXPECT_EQ(c.stats().holds_now, 0u);
}

// Three writers of two clients, each of which becomes a reader.
class cluster_downgrade_load : public cluster_downgrade {
protected:
    asio::awaitable<void> write_and_read(client& of) {
        const shared_mutex m{of, name};
        while (go_on) {
            hold h = co_await m.async_lock({.lease = 30s});
            const std::uint64_t mine = ++written;
            co_await h.async_downgrade();
            co_await pass(1ms);
            EXPECT_EQ(written, mine) << "a writer came to a reader";
            EXPECT_TRUE(h.owns_lock());
            co_await h.async_unlock();
            ++rounds;
        }
    }
    asio::awaitable<void> works() {
        const std::uint64_t before = rounds;
        const bool more = co_await when([&] { return rounds >= before + 10; }, long_patience);
        EXPECT_TRUE(more);
    }

    bool go_on = true;
    std::uint64_t written = 0;
    std::uint64_t rounds = 0;
};

TEST_F(cluster_downgrade_load, slow_no_writer_comes_to_a_reader_while_the_slot_goes_to_and_fro) {
    run([&]() -> asio::awaitable<void> {
        task_group workers{io.get_executor()};
        workers.spawn(write_and_read(a));
        workers.spawn(write_and_read(b));
        workers.spawn(write_and_read(b));
        std::size_t owner = from;
        for (int move = 0; move < 10; ++move) {
            co_await works();
            const std::size_t next = owner == from ? to : from;
            group.begin_migration(slot, owner, next);
            co_await ask(3);  // on the way
            group.move_keys(slot, owner, next);
            group.end_migration(slot, owner, next);
            owner = next;
        }
        co_await works();
        go_on = false;
        co_await workers.join();
    });
    EXPECT_EQ(written, rounds);
    expect_nothing_left();
}

}  // namespace
