// SPDX-License-Identifier: BSL-1.0
// How a quorum's lock counts time: that of the servers, that of who waits, and that of a slow loop.
#include "integration/quorum_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

struct quorum_time_test : quorum_test {
    quorum_time_test() : quorum_test{3} {}

    /// Somebody stands in line at that server: the first that has answered.
    asio::awaitable<std::size_t> line_for(std::string name) {
        std::size_t at = servers.size();
        co_await when([&] {
            for (std::size_t i = 0; i < servers.size(); ++i) {
                at = server(i).raw.subscribers(channel_of(name)) == 1 ? i : at;
            }
            return at != servers.size();
        });
        co_return at;
    }
    void freeze_all_but(std::size_t one) {
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (i != one) {
                server(i).redis.freeze();
            }
        }
    }
};

TEST_F(quorum_time_test, what_was_answered_while_the_loop_was_busy_is_a_grant) {
    contender a{io, servers};
    run([&]() -> asio::awaitable<void> { co_await warm_up(a); });
    for (const auto& s : servers) {
        s->raw.reset_calls();
    }
    const duration answer_timeout = 300ms;
    const quorum_mutex m = a.lock("busy-loop", answer_timeout);
    lock_attempt tries{[&](auto token) { m.async_try_lock(std::move(token)); }};
    const auto all_asked = [&] {
        return std::ranges::all_of(servers, [](auto& s) { return s->raw.calls("evalsha") == 1; });
    };
    ASSERT_TRUE(run_until(io, all_asked));
    ASSERT_FALSE(tries.done());
    const time_point busy_until = clock::now() + 3 * answer_timeout;
    while (clock::now() < busy_until) {  // as a handler that takes so long
    }
    ASSERT_TRUE(run_until(io, [&] { return tries.done(); }));
    EXPECT_FALSE(tries.ec()) << tries.ec().message();
    EXPECT_TRUE(tries.value().owns_lock());
}

// The others have less than their time to answer.
TEST_F(quorum_time_test, a_wait_that_ends_within_a_round_is_timed_out) {
    const contender a{io, servers};
    contender b{io, servers};
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> taken;
        for (const client& each : b.clients) {
            hold h = co_await mutex{each, "cut"}.async_lock();
            taken.push_back(std::move(h));
        }
        const quorum_mutex m = a.lock("cut", patience);
        lock_attempt waits = start_lock(m, {.wait = 2s});
        const std::size_t at = co_await line_for("cut");
        freeze_all_but(at);
        co_await taken.at(at).async_unlock();
        const bool ended = co_await when([&] { return waits.done(); });
        EXPECT_TRUE(ended);
        EXPECT_EQ(waits.ec(), errc::timed_out);
    });
}

// The line is longer than the patience.
TEST_F(quorum_time_test, slow_patience_begins_when_servers_were_asked_and_not_in_line) {
    config c = settings_for({});
    c.operation_timeout = 2s;
    const contender a{io, servers, c};
    for (const auto& s : servers) {
        take_as_stranger(s->raw, "patient");
    }
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("patient", 400ms);
        lock_attempt waits = start_lock(m);
        const std::size_t at = co_await line_for("patient");
        freeze_all_but(at);
        const client& there = a.clients.at(at);
        const bool left = co_await when([&] { return there.stats().timeouts >= 2; });
        EXPECT_TRUE(left) << "a vote, and the line";
        const time_point start = clock::now();
        const bool ended = co_await when([&] { return waits.done(); });
        EXPECT_TRUE(ended);
        EXPECT_EQ(waits.ec(), errc::not_connected);
        EXPECT_GT(clock::now() - start, 1200ms) << "not after the first round";
    });
}

}  // namespace
