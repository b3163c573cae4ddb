// SPDX-License-Identifier: BSL-1.0
// Permits, counts and rates whose hash slot moves to another node while somebody waits for them.
#include "deployment/cluster_moving.hpp"

#include <conch/counting_semaphore.hpp>
#include <conch/latch.hpp>
#include <conch/rate_limiter.hpp>
#include <conch/semaphore.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_moving_permits : public cluster_moving {
protected:
    std::string half_of_longer_from_now() {
        const reply now = group.raw(to).must({"TIME"});
        return std::to_string(1000 * std::stoll(now.items.at(0).text) +
                              std::chrono::milliseconds{longer}.count() / 2);
    }
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_permits, each_way_to_move(), name_of_moved);

TEST_P(cluster_moving_permits, slow_with_leases_are_extended_and_come_to_who_waits) {
    const std::string name = named("leased");
    const std::string out = name + ":timeout";
    const std::string channel = "redisson_sc:" + name;
    run([&]() -> asio::awaitable<void> {
        const semaphore of_a{a, name};
        const semaphore of_b{b, name};
        co_await of_a.async_set_permits(5);
        hold gone = co_await of_a.async_acquire(2, {.lease = 60s});
        hold kept = co_await of_a.async_acquire(2, {.lease = 60s});
        lock_attempt waiting = start_lock(of_b.permits(3), {.lease = 60s});
        co_await heard(channel);
        co_await begin_moving(name, channel);
        co_await kept.async_extend(longer);
        plain_attempt released = start_unlock(gone);
        co_await end_moving(released, is_in_parts());
        co_await done(waiting, "given back");
        expect_at_new_node({name, out});
        EXPECT_EQ(group.raw(to).get(name), "0");
        EXPECT_EQ(group.raw(to).must({"ZCARD", out}).number, 5);
        EXPECT_EQ(group.raw(to).must({"ZCOUNT", out, half_of_longer_from_now(), "inf"}).number, 2);
        EXPECT_TRUE(kept.owns_lock());
        co_await kept.async_unlock();
        co_await waiting.value().async_unlock();
        EXPECT_EQ(group.raw(to).get(name), "5");
        EXPECT_FALSE(group.raw(to).exists(out));
    });
    expect_no_loss(a);
    expect_no_loss(b);
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

TEST_P(cluster_moving_permits, slow_without_leases_are_given_back_once_to_who_waits) {
    const std::string name = named("permits");
    const std::string channel = "redisson_sc:" + name;
    run([&]() -> asio::awaitable<void> {
        const counting_semaphore of_a{a, name};
        const counting_semaphore of_b{b, name};
        const bool set = co_await of_a.async_try_set(5);
        EXPECT_TRUE(set);
        co_await of_a.async_acquire(4);
        plain_attempt waiting{[&](auto token) { of_b.async_acquire(3, std::move(token)); }};
        co_await heard(channel);
        co_await begin_moving(name, channel);
        plain_attempt released{[&](auto token) { of_a.async_release(4, std::move(token)); }};
        co_await end_moving(released, true);  // the key of the request is new
        co_await done(waiting, "given back");
        expect_at_new_node({name});
        EXPECT_EQ(group.raw(to).get(name), "2");
        const bool too_many = co_await of_a.async_try_acquire(3);
        EXPECT_FALSE(too_many);
        const bool the_rest = co_await of_a.async_try_acquire(2);
        EXPECT_TRUE(the_rest);
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
    EXPECT_EQ(a.stats().permits_in_doubt + b.stats().permits_in_doubt, 0u);
}

class cluster_moving_latch : public cluster_moving {
protected:
    plain_attempt count_down() {
        return plain_attempt{[&](auto token) { of_a.async_count_down(std::move(token)); }};
    }

    /// No hash tag: a latch takes none.
    const std::string name = cluster_group::name_of_slot(slot, "start");
    const std::string channel = "redisson_countdownlatch__channel__{" + name + '}';
    const latch of_a{a, name};
    const latch of_b{b, name};
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_latch, each_way_to_move(), name_of_moved);

TEST_P(cluster_moving_latch, slow_counts_down_once_for_each_and_opens_for_who_waits) {
    run([&]() -> asio::awaitable<void> {
        const bool set = co_await of_a.async_try_set_count(3);
        EXPECT_TRUE(set);
        co_await of_a.async_count_down();
        plain_attempt waiting{[&](auto token) { of_b.async_wait(std::move(token)); }};
        co_await heard(channel);
        co_await begin_moving(name, channel);
        plain_attempt counted = count_down();
        co_await end_moving(counted, true);  // the key of the request is new
        expect_at_new_node({name});
        EXPECT_EQ(group.raw(to).get(name), "1");
        EXPECT_FALSE(waiting.done()) << "counted twice";
        co_await heard(channel);
        plain_attempt last = count_down();
        co_await done(last, "the last");
        co_await done(waiting, "open");
        EXPECT_FALSE(is_at(to, name));
        expect_at_new_node({});
    });
    EXPECT_EQ(b.stats().wakes_by_poll, 0u);
}

/// Of the kind `gcra`, which has one key.
class cluster_moving_rate : public cluster_moving {
protected:
    rate_limiter of(const client& each, const rate& r) const {
        return {each, name, r, rate_algorithm::gcra};
    }
    asio::awaitable<void> begin_moving() {
        co_await cluster_moving::begin_moving(name, "nobody listens", 0);
    }

    const std::string name = named("paced");
};

INSTANTIATE_TEST_SUITE_P(after, cluster_moving_rate, each_way_to_move_one_key(), name_of_moved);

TEST_P(cluster_moving_rate, slow_allows_no_more_than_it_would_at_one_node) {
    const rate two{.limit = 2, .window = 1h};
    run([&]() -> asio::awaitable<void> {
        rate_verdict asked = co_await of(a, two).async_try_acquire();
        EXPECT_EQ(asked.remaining, 1u);
        co_await begin_moving();
        asked = co_await of(b, two).async_try_acquire(2);
        EXPECT_FALSE(asked.allowed) << "one of them is not back";
        asked = co_await of(b, two).async_try_acquire();
        EXPECT_TRUE(asked.allowed);
        EXPECT_EQ(asked.remaining, 0u);
        asked = co_await of(a, two).async_try_acquire();
        EXPECT_FALSE(asked.allowed);
        EXPECT_GT(asked.retry_after, 20min);
        end_if_begun();
        asked = co_await of(c, two).async_try_acquire();
        EXPECT_FALSE(asked.allowed);
        expect_at_new_node({name});
        EXPECT_GT(lease_left(name), 20min);
    });
}

TEST_P(cluster_moving_rate, slow_whoever_waits_is_allowed_in_time_and_not_before) {
    const rate one{.limit = 1, .window = 4s};
    run([&]() -> asio::awaitable<void> {
        const auto asked = clock::now();
        co_await of(a, one).async_acquire();
        attempt<rate_verdict> waiting{
            [&](auto token) { of(b, one).async_acquire(1, {}, std::move(token)); }};
        co_await begin_moving();
        EXPECT_FALSE(waiting.done() && clock::now() < asked + one.window) << "too early";
        co_await done(waiting, "it is time");
        EXPECT_GE(clock::now() - asked, one.window - 2ms);
        end_if_begun();
        expect_at_new_node({name});
    });
}

}  // namespace
