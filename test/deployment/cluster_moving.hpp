// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_CLUSTER_MOVING_HPP
#define CONCH_TEST_DEPLOYMENT_CLUSTER_MOVING_HPP

#include "deployment/cluster_migration.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace conch::test {

/// How far a hash slot has moved when somebody gives back what is in it.
enum class moved { nothing, one_key, other_keys, everything };

/// A hash slot moves while one client has something in it, and another one waits for that.
class cluster_moving : public cluster_migration, public testing::WithParamInterface<moved> {
protected:
    /// Extended on the way; what is not has less.
    static constexpr std::chrono::minutes longer{10};

    asio::awaitable<void> heard(const std::string& channels, std::size_t n = 1) const {
        const bool so_many = co_await when([&] { return listeners(channels) == n; }, long_patience);
        EXPECT_TRUE(so_many) << n << " should listen to " << channels;
    }
    /// As far as this test says; `one` is the key that moves alone, or stays alone. After a whole
    /// move the `waiters` listen at the new node.
    asio::awaitable<void> begin_moving(const std::string& one, const std::string& channels,
                                       std::size_t waiters = 1) {
        if (GetParam() == moved::everything) {
            group.migrate(slot, to);
            co_await heard(channels, waiters);
            co_return;
        }
        begin();
        for (const std::string& key : group.node(from).keys_in(slot)) {
            if (GetParam() != moved::nothing && (key == one) == (GetParam() == moved::one_key)) {
                move(key);
            }
        }
    }
    /// This change of the client `a` is done: at once, or, if its script wants keys `in_parts` of
    /// a move, when the move has ended, and not before.
    asio::awaitable<void> end_moving(plain_attempt& change, bool in_parts) {
        if (GetParam() != moved::everything && in_parts) {
            const bool refused = co_await when(
                [&] { return a.last_server_error().starts_with("TRYAGAIN"); }, long_patience);
            EXPECT_TRUE(refused) << a.last_server_error();
            EXPECT_FALSE(change.done()) << change.ec().message();
            end();
            co_await done(change, "the hash slot has moved");
        } else {
            co_await done(change, "nothing hinders it");
            end_if_begun();
        }
    }
    void end_if_begun() {
        if (GetParam() != moved::everything) {
            end();
        }
    }
    bool is_in_parts() const {
        return GetParam() == moved::one_key || GetParam() == moved::other_keys;
    }
    void expect_at_new_node(const std::vector<std::string>& keys) {
        EXPECT_TRUE(group.node(from).keys_in(slot).empty());
        for (const std::string& key : keys) {
            EXPECT_TRUE(is_at(to, key)) << key;
        }
    }
    /// Until the key of a lock ends, at the node that has it.
    std::chrono::milliseconds lease_left(const std::string& key) {
        raw_client raw = group.raw(is_at(to, key) ? to : from);
        raw.must({"ASKING"});
        return std::chrono::milliseconds{raw.pttl(key)};
    }
    static void expect_no_loss(const client& c) {
        const stats s = c.stats();
        EXPECT_EQ(s.lost_expired + s.lost_refused + s.lost_taken, 0u);
        EXPECT_EQ(s.holds_now + s.waiting_now, 0u);
    }

    /// How many channels whose names begin so have listeners: at the node that serves their hash
    /// slot, or, if servers know no messages of a shard, at all nodes together.
    std::size_t listeners(const std::string& channels) const {
        if (server_has_shard_messages()) {
            return listeners(group.owner_of(channels), "SHARDCHANNELS", channels);
        }
        std::size_t all = 0;
        for (std::size_t i = 0; i < group.size(); ++i) {
            all += listeners(i, "CHANNELS", channels);
        }
        return all;
    }

    client c{io, push_only("c")};

private:
    std::size_t listeners(std::size_t node, const char* what, const std::string& channels) const {
        return group.raw(node).must({"PUBSUB", what, channels + '*'}).items.size();
    }
};

inline std::string name_of_moved(const testing::TestParamInfo<moved>& which) {
    switch (which.param) {
        case moved::nothing: return "nothing";
        case moved::one_key: return "one_key";
        case moved::other_keys: return "other_keys";
        case moved::everything: return "everything";
    }
    return {};
}

inline auto each_way_to_move() {
    return testing::Values(moved::nothing, moved::one_key, moved::other_keys, moved::everything);
}

/// Of what has one key.
inline auto each_way_to_move_one_key() {
    return testing::Values(moved::nothing, moved::one_key, moved::everything);
}

}  // namespace conch::test

#endif
