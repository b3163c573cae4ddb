// SPDX-License-Identifier: BSL-1.0
// A cluster that speaks TLS alone, between its nodes too.
#include "deployment/cluster_test.hpp"
#include "deployment/tls_authority.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_tls : public cluster_test {
protected:
    cluster_tls() : cluster_tls{certificate_for("IP:127.0.0.1")} {}
    explicit cluster_tls(node_certificate shown) : cluster_test{std::move(shown)} {}
};

TEST_F(cluster_tls, slow_a_lock_is_renewed_follows_its_slot_and_wakes_its_waiter) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = group.name_in(0);
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 6s});
        lock_attempt waiting = start_lock(mutex{b, name});
        co_await listens(name);
        co_await renewed(a, 1);
        group.migrate(slot_of(name), 1);
        co_await listens(name);  // there
        co_await renewed(a, 2);
        EXPECT_TRUE(h.owns_lock());
        EXPECT_FALSE(waiting.done());
        co_await wakes(h, waiting);
        co_await waiting.value().async_unlock();
        EXPECT_TRUE(group.node(1).keys_in(slot_of(name)).empty());
    });
    EXPECT_GE(a.stats().connects, 2u) << "of the two masters";
}

class cluster_tls_elsewhere : public cluster_tls {
protected:
    cluster_tls_elsewhere() : cluster_tls{certificate_for("DNS:elsewhere.example")} {}
};

TEST_F(cluster_tls_elsewhere, slow_nodes_that_are_not_who_they_should_be_are_refused) {
    config c = group.settings();
    c.retry_attempts = 1;
    client wary{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{wary, "lock"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::tls_failed) << ec.message() << ": " << wary.last_server_error();
        EXPECT_FALSE(h);
    });
    EXPECT_EQ(wary.stats().script_calls, 0u);
}

class cluster_tls_both_ways : public cluster_tls {
protected:
    cluster_tls_both_ways() : cluster_tls{demanding("IP:127.0.0.1")} {}
};

TEST_F(cluster_tls_both_ways, slow_a_client_shows_its_certificate_to_all_of_them) {
    config c = group.settings();
    c.retry_attempts = 1;
    client stranger{io, c};
    const certificate own = authority().issue("DNS:client");
    c.tls->certificate_file = own.file;
    c.tls->private_key_file = own.key;
    client known{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex forbidden{stranger, "lock"};
        const auto [ec, none] = co_await forbidden.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::tls_failed) << ec.message() << ": " << stranger.last_server_error();
        co_await locks_everywhere(known);
    });
    EXPECT_EQ(stranger.stats().connects, 0u);
    EXPECT_EQ(known.stats().connects, cluster_group::master_count);
}

class cluster_tls_by_name : public cluster_tls {
protected:
    cluster_tls_by_name() : cluster_tls{by_name()} {}
};

TEST_F(cluster_tls_by_name, slow_a_node_is_who_it_is_called) {
    if (server_is_before(7)) {
        GTEST_SKIP() << "for Redis 7.0 or newer: nodes have no names before";
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        group.name(i, host_name);
    }
    const std::set<std::string> one_name{host_name};
    run([&]() -> asio::awaitable<void> {
        co_await named(one_name);
        co_await locks_everywhere(a);
    });
    EXPECT_EQ(a.stats().connects, cluster_group::master_count) << a.last_server_error();
}

}  // namespace
