// SPDX-License-Identifier: BSL-1.0
// Fair locks, readers, plain keys, and several locks as one, whose hash slot moves to another node
// while they are held and waited for.
#include "deployment/cluster_moving.hpp"

#include <conch/fair_mutex.hpp>
#include <conch/multi_lock.hpp>
#include <conch/shared_mutex.hpp>
#include <conch/token_mutex.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_moving_fair : public cluster_moving {
protected:
    asio::awaitable<void> in_line(std::size_t node, std::int64_t n) {
        const bool so_many = co_await when(
            [&] { return group.raw(node).must({"LLEN", line}).number == n; }, long_patience);
        EXPECT_TRUE(so_many) << n << " should stand in line";
    }

    const std::string name = named("fair");
    const std::string line = "redisson_lock_queue:" + name;
    const std::string places = "redisson_lock_timeout:" + name;
    const std::string wishes = "conch_fair_lease:" + name;
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_fair, each_way_to_move(), name_of_moved);

TEST_P(cluster_moving_fair, slow_the_line_is_served_in_its_order) {
    run([&]() -> asio::awaitable<void> {
        const fair_mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 60s});
        lock_attempt first = start_lock(fair_mutex{b, name}, {.lease = 60s});
        co_await in_line(from, 1);
        lock_attempt second = start_lock(fair_mutex{c, name}, {.lease = 60s});
        co_await in_line(from, 2);
        co_await heard(channel_of(name) + ':', 2);
        co_await begin_moving(name, channel_of(name) + ':', 2);
        co_await h.async_extend(longer);
        EXPECT_GT(lease_left(name), longer / 2);
        plain_attempt released = start_unlock(h);
        co_await done(released, "all it needs is the key of the lock");
        if (GetParam() != moved::everything) {
            EXPECT_FALSE(first.done()) << "its line and its key are apart";
            end();
        }
        co_await done(first, "the first in line");
        EXPECT_FALSE(second.done()) << "two have the lock";
        expect_at_new_node({name, line, places, wishes});
        EXPECT_EQ(group.raw(to).hlen(name), 1);
        EXPECT_EQ(group.raw(to).must({"LLEN", line}).number, 1);
        const lock_status seen = co_await of_a.async_status();
        EXPECT_TRUE(seen.holder.starts_with(b.id()));
        co_await first.value().async_unlock();
        co_await done(second, "the second in line");
        EXPECT_EQ(group.raw(to).hlen(name), 1);
        co_await second.value().async_unlock();
        expect_at_new_node({});
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
    });
    for (const client* each : {&a, &b, &c}) {
        expect_no_loss(*each);
        EXPECT_EQ(each->stats().wakes_by_poll, 0u);
    }
}

class cluster_moving_reader : public cluster_moving {
protected:
    /// Of the only reader, by the word of the node that has it.
    std::string timeout_key() {
        for (const std::size_t node : {from, to}) {
            for (const std::string& key : group.node(node).keys_in(slot)) {
                if (key.find(":rwlock_timeout:") != key.npos) {
                    return key;
                }
            }
        }
        return {};
    }

    const std::string name = named("rw");
    const std::string channel = "redisson_rwlock:" + name;
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_reader, each_way_to_move(), name_of_moved);

TEST_P(cluster_moving_reader, slow_is_extended_and_keeps_a_writer_out_until_it_goes) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await shared_mutex{a, name}.async_lock_shared({.lease = 60s});
        const std::string deadline = timeout_key();
        EXPECT_FALSE(deadline.empty());
        lock_attempt waiting = start_lock(shared_mutex{b, name}.writer(), {.lease = 60s});
        co_await heard(channel);
        co_await begin_moving(name, channel);
        co_await h.async_extend(longer);
        EXPECT_GT(lease_left(name), longer / 2);
        EXPECT_GT(lease_left(deadline), longer / 2);
        EXPECT_FALSE(waiting.done()) << "a writer came to a reader";
        plain_attempt released = start_unlock(h);
        co_await done(released, "all it needs is the key of the lock");
        if (GetParam() != moved::everything) {
            EXPECT_FALSE(waiting.done()) << "its keys are new, and may not come meanwhile";
            end();
        }
        co_await done(waiting, "the writer");
        expect_at_new_node({name});
        const auto fields = group.raw(to).hgetall(name);
        EXPECT_EQ(fields.size(), 2u);
        EXPECT_EQ(fields.count("mode") == 1 ? fields.at("mode") : "", "write");
        const hold none = co_await shared_mutex{c, name}.async_try_lock_shared();
        EXPECT_FALSE(none);
        co_await waiting.value().async_unlock();
        EXPECT_FALSE(group.raw(to).exists(name));
        hold again = co_await shared_mutex{c, name}.async_lock_shared();
        EXPECT_TRUE(again);
        co_await again.async_unlock();
    });
    for (const client* each : {&a, &b, &c}) {
        expect_no_loss(*each);
    }
}

class cluster_moving_plain : public cluster_moving {
protected:
    const std::string name = named("plain");
    const std::string channel = "conch_token_mutex_channel:" + name;
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_plain, each_way_to_move_one_key(), name_of_moved);

TEST_P(cluster_moving_plain, slow_a_key_with_a_token_is_extended_and_comes_to_who_waits) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await token_mutex{a, name}.async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(token_mutex{b, name}, {.lease = 60s});
        co_await heard(channel);
        co_await begin_moving(name, channel);
        co_await h.async_extend(longer);
        EXPECT_GT(lease_left(name), longer / 2);
        hold none = co_await token_mutex{c, name}.async_try_lock();
        EXPECT_FALSE(none);
        EXPECT_FALSE(waiting.done()) << "two have the lock";
        plain_attempt released = start_unlock(h);
        co_await end_moving(released, false);
        co_await done(waiting, "the next");
        expect_at_new_node({name});
        EXPECT_TRUE(group.raw(to).get(name).value_or("").starts_with(b.id() + ':'));
        none = co_await token_mutex{c, name}.async_try_lock();
        EXPECT_FALSE(none);
        co_await waiting.value().async_unlock();
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        expect_at_new_node({});
    });
    for (const client* each : {&a, &b, &c}) {
        expect_no_loss(*each);
    }
}

// Each of them has one key: no script is refused, wherever that key is.
class cluster_moving_several : public cluster_moving {
protected:
    multi_lock of(const client& each, bool other_way = false) const {
        const mutex first{each, one};
        const mutex second{each, two};
        const mutex third{each, elsewhere};
        return other_way ? multi_lock{third, second, first} : multi_lock{first, second, third};
    }
    /// The client `b` waits for the one that it found busy, at the node that serves that.
    asio::awaitable<void> listens_to_one() const {
        const bool heard = co_await when(
            [&] {
                return listeners(channel_of(one)) + listeners(channel_of(two)) +
                           listeners(channel_of(elsewhere)) ==
                       1;
            },
            long_patience);
        EXPECT_TRUE(heard);
    }
    /// Who has all three, by the word of the nodes that serve them; "" if they are not one's.
    std::string holder() {
        std::string all;
        for (const std::string& each : {one, two, elsewhere}) {
            const std::size_t at = each == elsewhere ? 2 : to;
            const auto fields = group.raw(at).hgetall(each);
            const std::string id = fields.size() == 1 ? fields.begin()->first.substr(0, 36) : "";
            if (id.empty() || (!all.empty() && all != id)) {
                return {};
            }
            all = id;
        }
        return all;
    }

    const std::string one = named("one");
    const std::string two = named("two");
    const std::string elsewhere = group.name_in(2, "three");
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_several, each_way_to_move(), name_of_moved);

TEST_P(cluster_moving_several, slow_all_pass_from_one_client_to_the_other) {
    run([&]() -> asio::awaitable<void> {
        hold h = co_await of(a).async_lock({.lease = 60s});
        lock_attempt waiting = start_lock(of(b, true), {.lease = 60s});
        co_await listens_to_one();
        if (GetParam() == moved::everything) {
            group.migrate(slot, to);
            co_await listens_to_one();
        } else {
            begin();
        }
        if (is_in_parts()) {
            move(GetParam() == moved::one_key ? one : two);
        }
        co_await h.async_extend(longer);
        EXPECT_GT(std::min(lease_left(one), lease_left(two)), longer / 2);
        plain_attempt released = start_unlock(h);
        co_await done(released, "each has one key");
        end_if_begun();
        co_await done(waiting, "all of them");
        EXPECT_EQ(holder(), b.id());
        expect_at_new_node({one, two});
        co_await waiting.value().async_unlock();
        EXPECT_TRUE(group.node(to).keys_in(slot).empty());
        EXPECT_FALSE(group.raw(2).exists(elsewhere));
    });
    expect_no_loss(a);
    expect_no_loss(b);
}

}  // namespace
