// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_CLUSTER_TEST_HPP
#define CONCH_TEST_DEPLOYMENT_CLUSTER_TEST_HPP

#include "support/attempt.hpp"
#include "support/server_version.hpp"
#include "deployment/cluster_group.hpp"
#include "deployment/two_clients_test.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace conch::test {

/// A cluster of its own for each test, and two clients of it.
class cluster_test : public two_clients_test<cluster_group> {
protected:
    using two_clients_test::two_clients_test;

    /// So many connections to this node listen for releases of this lock, sharded or not.
    std::int64_t shard_listeners(std::size_t node, const std::string& name) const {
        return server_has_shard_messages() ? count(node, "SHARDNUMSUB", name) : 0;
    }
    std::int64_t plain_listeners(std::size_t node, const std::string& name) const {
        return count(node, "NUMSUB", name);
    }
    /// And to all nodes.
    std::int64_t plain_listeners(const std::string& name) const {
        std::int64_t all = 0;
        for (std::size_t i = 0; i < group.size(); ++i) {
            all += group.node(i).awake() ? plain_listeners(i, name) : 0;
        }
        return all;
    }

    /// The waiter hears of a release of this lock: by the node that serves it, or, if servers know
    /// no messages of a shard, by any.
    asio::awaitable<void> listens(const std::string& name) const {
        const std::size_t owner = group.owner_of(name);
        const bool heard = co_await when(
            [&] {
                return (server_has_shard_messages() ? shard_listeners(owner, name)
                                                    : plain_listeners(name)) == 1;
            },
            long_patience);
        EXPECT_TRUE(heard) << "nobody listens for " << name;
    }
    /// What waits is done, with no error.
    template <typename Value>
    static asio::awaitable<void> done(attempt<Value>& waiting, const char* what) {
        const bool ended = co_await when([&] { return waiting.done(); }, long_patience);
        EXPECT_TRUE(ended) << what;
        EXPECT_FALSE(waiting.ec()) << what << ": " << waiting.ec().message();
    }
    /// A release is heard by the client `b`, by nothing but its message; as opposed to what it may
    /// have found out while it waited, when the lease that it knew of should have ended.
    asio::awaitable<void> wakes(hold& h, lock_attempt& waiting) const {
        co_await looks();
        const stats before = b.stats();
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        EXPECT_EQ(b.stats().wakes_by_message, before.wakes_by_message + 1);
        EXPECT_EQ(b.stats().wakes_by_poll, before.wakes_by_poll);
    }
    /// The client `b` has just looked at a lock that is held on a short lease: it won't again for
    /// most of the lease.
    asio::awaitable<void> looks() const {
        const stats before = b.stats();
        const bool asked = co_await when(
            [&] { return b.stats().script_calls > before.script_calls; }, long_patience);
        const stats then = b.stats();
        const bool told = co_await when(
            [&] { return b.stats().bytes_received > then.bytes_received; }, long_patience);
        EXPECT_TRUE(asked && told) << "nobody looks";
    }
    /// A lock of each master is taken and given back.
    asio::awaitable<void> locks_everywhere(const client& c) const {
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            const std::string name = group.name_in(i, "seen");
            const mutex m{c, name};
            hold h = co_await m.async_lock();
            EXPECT_TRUE(group.raw(i).exists(name));
            co_await h.async_unlock();
        }
    }
    /// All nodes have heard of all these hosts' names.
    asio::awaitable<void> named(const std::set<std::string>& hosts) const {
        const bool told = co_await when([&] { return group.all_name(hosts); }, long_patience);
        EXPECT_TRUE(told);
    }
    /// This client has renewed so many leases more.
    asio::awaitable<void> renewed(const client& c, std::uint64_t times) const {
        const std::uint64_t before = c.stats().renewals;
        const bool often =
            co_await when([&] { return c.stats().renewals >= before + times; }, long_patience);
        EXPECT_TRUE(often) << "leases are not renewed";
    }

private:
    std::int64_t count(std::size_t node, const char* what, const std::string& name) const {
        const reply r = group.raw(node).must({"PUBSUB", what, channel_of(name)});
        return r.items.at(1).number;
    }
};

}  // namespace conch::test

#endif
