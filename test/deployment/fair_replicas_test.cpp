// SPDX-License-Identifier: BSL-1.0
// A fair lock that is granted only when replicas have it, on a real master with two replicas.
#include "deployment/replica_group.hpp"
#include "support/attempt.hpp"
#include "support/run.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST(fair_replicas, who_is_given_the_lock_has_it_where_it_was_asked_to_be) {
    replica_group group;
    raw_client master = group.raw(0);
    asio::io_context io;
    config by_message = group.settings("asks");
    by_message.max_poll_interval = 60s;
    client asking{io, by_message};
    client other{io, group.settings("other")};
    const fair_mutex asks{asking, "m", {.replicas = {.at_least = 2, .within = 2s}}};
    const fair_mutex free{other, "m"};
    const auto replicas_that_name = [&](const std::string& client_id) {
        std::size_t n = 0;
        for (const std::size_t i : {1u, 2u}) {
            const auto fields = group.raw(i).hgetall("m");
            n += !fields.empty() && fields.begin()->first.starts_with(client_id) ? 1u : 0u;
        }
        return n;
    };
    const auto waits_for_replicas = [&] {
        const std::string info = master.must({"INFO", "clients"}).text;
        return info.find("blocked_clients:1\r") != info.npos;
    };
    for (int round = 1; round <= 5; ++round) {
        const std::string channel =
            channel_of("m") + ':' + asking.id() + ':' + std::to_string(round);
        lock_attempt before = start_lock(free);
        ASSERT_TRUE(run_until(io, [&] { return before.done(); }));
        lock_attempt waits = start_lock(asks);
        ASSERT_TRUE(run_until(io, [&] { return master.subscribers(channel) == 1; }));
        ASSERT_TRUE(run_until(io, [&] { return !waits_for_replicas(); }));
        group.server(1).freeze();
        group.server(2).freeze();
        before.value().release();
        const bool asks_once_more = run_until(io, waits_for_replicas, 2s);
        EXPECT_TRUE(asks_once_more);
        EXPECT_FALSE(waits.done()) << "the server has given it the lock, no replica knows";
        group.server(1).thaw();
        group.server(2).thaw();
        ASSERT_TRUE(run_until(io, [&] { return waits.done(); }));
        EXPECT_EQ(replicas_that_name(asking.id()), 2u);
        ASSERT_FALSE(waits.ec()) << waits.ec().message();
        waits.value().release();
    }
    EXPECT_EQ(asking.stats().wakes_by_poll, 0u);
}

}  // namespace
