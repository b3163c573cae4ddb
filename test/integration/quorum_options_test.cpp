// SPDX-License-Identifier: BSL-1.0
// What a quorum can't be made of or asked for, and what it says of a lock.
#include "integration/quorum_fixture.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class quorum_options_test : public quorum_test {
protected:
    quorum_options_test() : quorum_test{3} {}

    contender a{io, servers};
};

TEST_F(quorum_options_test, what_a_quorum_can_not_be_made_of_is_refused) {
    using clients = std::vector<std::reference_wrapper<const client>>;
    const auto& [x, y, z] = std::tie(a.clients[0], a.clients[1], a.clients[2]);
    EXPECT_NO_THROW((quorum_mutex{{x, y, z}, "good"}));
    EXPECT_NO_THROW((quorum_mutex{{x, y}, "an even number is safe"}));
    EXPECT_NO_THROW((quorum_mutex{{x}, "one"}));
    EXPECT_THROW((quorum_mutex{clients{}, "none"}), std::invalid_argument);
    EXPECT_THROW((quorum_mutex{{x, y, x}, "twice"}), std::invalid_argument);
    EXPECT_THROW((quorum_mutex{{x, y, z}, ""}), std::invalid_argument);
    EXPECT_THROW((quorum_mutex{{x, y, z}, "t", {.answer_timeout = 0ms}}), std::invalid_argument);
    EXPECT_THROW((quorum_mutex{{x, y, z}, "t", {.answer_timeout = 1h}}), std::invalid_argument);
    std::deque<client> many;
    while (many.size() <= quorum_mutex::max_clients) {
        many.emplace_back(io);
    }
    const clients all{many.begin(), many.end()};
    EXPECT_THROW((quorum_mutex{all, "many"}), std::invalid_argument);
    EXPECT_NO_THROW((quorum_mutex{std::span{all}.first(quorum_mutex::max_clients), "many"}));
}

TEST_F(quorum_options_test, options_are_checked_before_anything_is_sent) {
    const quorum_mutex m = a.lock("bad");
    const owner me;
    run([&]() -> asio::awaitable<void> {
        const auto [wait, h1] = co_await m.async_lock({.wait = -1s}, as_result);
        EXPECT_EQ(wait, errc::invalid_wait);
        const auto [lease, h2] = co_await m.async_lock({.lease = 1ms}, as_result);
        EXPECT_EQ(lease, errc::invalid_lease);
        const auto [most, h3] = co_await m.async_try_lock({.max_hold = 1ms}, as_result);
        EXPECT_EQ(most, errc::invalid_max_hold);
        const auto [owned, h4] = co_await m.async_lock({.owner = &me}, as_result);
        EXPECT_EQ(owned, errc::invalid_owner);
    });
    for (const client& c : a.clients) {
        EXPECT_EQ(c.stats().connects, 0u);
    }
}

TEST_F(quorum_options_test, one_server_is_a_quorum_too) {
    const quorum_mutex m{{a.clients[1]}, "alone"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock();
        EXPECT_TRUE(server(1).raw.exists("alone"));
        const hold none = co_await m.async_try_lock();
        EXPECT_FALSE(none);
        co_await h.async_unlock();
        EXPECT_FALSE(server(1).raw.exists("alone"));
    });
}

TEST_F(quorum_options_test, the_status_is_that_of_a_majority) {
    const quorum_mutex m = a.lock("status");
    run([&]() -> asio::awaitable<void> {
        const lock_status free = co_await m.async_status();
        EXPECT_FALSE(free.locked);
        EXPECT_TRUE(free.holder.empty());
        take_as_stranger(server(0).raw, "status");
        const lock_status one = co_await m.async_status();
        EXPECT_FALSE(one.locked) << "two are free";
        take_as_stranger(server(2).raw, "status");
        const lock_status two = co_await m.async_status();
        EXPECT_TRUE(two.locked);
        EXPECT_TRUE(two.holder.ends_with(":1"));
        EXPECT_EQ(two.holder.find(' '), std::string::npos) << "the same holder, once";
        EXPECT_EQ(two.depth, 1u);
        EXPECT_GT(two.ttl, 20s);
        kill({1});
        const lock_status still = co_await m.async_status();
        EXPECT_TRUE(still.locked);
        kill({0});
        const auto [ec, unknown] = co_await m.async_status(as_result);
        EXPECT_EQ(ec, errc::not_connected);
    });
}

struct quorum_status_beside_a_frozen : quorum_options_test,
                                       ::testing::WithParamInterface<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(at, quorum_status_beside_a_frozen, ::testing::Values(0u, 2u));

// Its answer is awaited for longer than the test takes.
TEST_P(quorum_status_beside_a_frozen, it_does_not_slow_what_a_majority_says) {
    contender b{io, servers, most_patient()};
    const quorum_mutex m = b.lock("frozen", 2 * patience);
    run([&]() -> asio::awaitable<void> {
        co_await warm_up(b);
        server(GetParam()).redis.freeze();
        const lock_status free = co_await m.async_status();
        EXPECT_FALSE(free.locked);
        const hold h = co_await m.async_lock();
        const lock_status locked = co_await m.async_status();
        EXPECT_TRUE(locked.locked);
        EXPECT_EQ(std::ranges::count(locked.holder, ' '), 1) << "two have answered";
        server(GetParam()).redis.thaw();
    });
}

// Nearly always: who answers as soon as the others is heard.
TEST_F(quorum_options_test, the_status_tells_of_all_servers_that_answer) {
    const quorum_mutex m = a.lock("all-three", 2 * patience);
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await m.async_lock();
        const bool taken = co_await held_by(a);
        EXPECT_TRUE(taken);
        std::ptrdiff_t blanks = 0;
        while (blanks != 2) {
            const lock_status s = co_await m.async_status();
            blanks = std::ranges::count(s.holder, ' ');
        }
    });
}

TEST_F(quorum_options_test, so_many_may_watch_a_hold_as_operations_may_be_pending) {
    config few = settings_for({});
    few.max_pending = 2;
    const contender b{io, servers, few};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await b.lock("watched").async_lock();
        std::vector<plain_attempt> watches;
        for (int i = 0; i < 3; ++i) {
            watches.push_back(start_wait_lost(h));
        }
        const bool refused = co_await when([&] { return watches[2].done(); });
        EXPECT_TRUE(refused);
        EXPECT_EQ(watches[2].ec(), errc::overloaded);
        EXPECT_FALSE(watches[0].done() || watches[1].done());
        co_await h.async_unlock();
        const bool told = co_await when([&] { return watches[0].done() && watches[1].done(); });
        EXPECT_TRUE(told);
        EXPECT_FALSE(watches[0].ec() || watches[1].ec()) << "it was released";
    });
}

}  // namespace
