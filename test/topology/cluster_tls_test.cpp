// SPDX-License-Identifier: BSL-1.0
// A cluster that speaks TLS alone, between its nodes too.
#include "support/certificates.hpp"
#include "topology/cluster_test.hpp"

#include <string>

namespace {

using namespace conch;
using namespace conch::test;

certificate_authority& authority() {
    static certificate_authority one;
    return one;
}

node_certificate certificate_for(const std::string& names) {
    const certificate c = authority().issue(names);
    return {.file = c.file, .key = c.key, .ca = authority().file()};
}

class cluster_tls : public cluster_test {
protected:
    explicit cluster_tls(const std::string& names = "IP:127.0.0.1")
        : cluster_test{certificate_for(names)} {}
};

TEST_F(cluster_tls, slow_a_lock_is_renewed_follows_its_slot_and_wakes_its_waiter) {
    run([&]() -> asio::awaitable<void> {
        const std::string name = group.name_in(0);
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock({.lease = 3s});
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
    cluster_tls_elsewhere() : cluster_tls{"DNS:elsewhere.example"} {}
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

}  // namespace
