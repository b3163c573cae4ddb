// SPDX-License-Identifier: BSL-1.0
// The user that the page on operations makes, in a cluster and with Sentinel: it is enough for
// `conch ls` and `conch who`, and they need each right that is added there.
#include "deployment/cluster_group.hpp"
#include "deployment/command_topology.hpp"
#include "deployment/sentinel_group.hpp"
#include "integration/list_rights.hpp"
#include "support/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch::test;

template <typename Group>
class list_rights_of : public command_topology {
protected:
    /// `added`: which of the page's users says what is added for such servers.
    list_rights_of(std::size_t servers, std::size_t added) : servers_{servers} {
        at_each(list_users_of_page().at(0));
        at_each(list_users_of_page().at(added));
        url = with_user(group.url());
    }
    void at_each(const words& line) const {
        for (std::size_t i = 0; i < servers_; ++i) {
            group.raw(i).must(line);
        }
    }
    /// Since the last call; but for scripts, which each connection tries to load.
    words refused() const {
        words all;
        for (std::size_t i = 0; i < servers_; ++i) {
            raw_client server = group.raw(i);
            for (std::string& what : server.refused()) {
                if (!what.starts_with("script")) {
                    all.push_back(std::move(what));
                }
            }
            server.must({"ACL", "LOG", "RESET"});
        }
        return all;
    }
    void take_away(const std::string& right) const {
        at_each({"ACL", "SETUSER", "conch-ls", '-' + right});
        refused();
    }
    void give_back(const std::string& right) const {
        at_each({"ACL", "SETUSER", "conch-ls", '+' + right});
    }
    void expect_refused(const std::string& what) const {
        const words all = refused();
        EXPECT_NE(std::find(all.begin(), all.end(), what), all.end())
            << testing::PrintToString(all);
    }
    ended as_reader(const words& arguments) const {
        std::string address = url;
        const std::string user = "://" + std::string{conch_user} + ':';
        address.replace(address.find(user), user.size(), "://conch-ls:");
        program p{conch(arguments), {{"CONCH_REDIS", address}}};
        return p.finish();
    }
    static void expect_in(const std::string& part, const ended& told) {
        EXPECT_NE(told.out.find(part), std::string::npos)
            << part << " is not in: " << testing::PrintToString(told);
    }
    void hold(const words& names) {
        for (const std::string& name : names) {
            holders_.emplace_back(conch({"run", name, "--", "sh", "-c", "echo in; exec cat"}),
                                  here());
            holders_.back().wait_for("in\n");
        }
        names_ = names;
        refused();
    }
    void expect_holders_told() const {
        const ended all = as_reader({"ls"});
        EXPECT_EQ(all.err, "");
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const std::string pid = std::to_string(holders_[i].pid());
            expect_in(':' + pid + ' ', all);
            expect_in("process " + pid + " on ", as_reader({"who", names_[i]}));
        }
    }

    Group group{};

private:
    const std::size_t servers_;
    words names_{};
    std::deque<program> holders_{};
};

class list_rights_in_a_cluster : public list_rights_of<cluster_group> {
protected:
    list_rights_in_a_cluster() : list_rights_of{cluster_group::node_count, 1} {
        hold({group.name_in(0), waited_for, group.name_in(2)});
    }
    bool somebody_listens() const {
        raw_client at = group.raw(1);
        return at.must({"PUBSUB", "SHARDNUMSUB", channel_of(waited_for)}).items.at(1).number == 1;
    }

    const std::string waited_for = group.name_in(1);
    const words look_at_it{"ls", "--json", waited_for};
};

TEST_F(list_rights_in_a_cluster, slow_are_enough_and_each_is_needed) {
    if (server_is_before(7)) {
        GTEST_SKIP() << "this server knows no messages of a shard";
    }
    const program waiter{conch({"run", waited_for, "--", "true"}), here()};
    asio::io_context io;
    ASSERT_TRUE(run_until(io, [&] { return somebody_listens(); }));
    refused();
    expect_holders_told();
    expect_in("\"waiting\":1,", as_reader(look_at_it));
    EXPECT_EQ(refused(), words{});

    take_away("cluster|slots");
    for (const words& line : {look_at_it, words{"who", waited_for}}) {
        const ended end = as_reader(line);
        EXPECT_EQ(end.status, 69) << testing::PrintToString(end);
    }
    give_back("cluster|slots");

    take_away("pubsub|shardnumsub");
    const ended end = as_reader(look_at_it);
    expect_in("\"waiting\":null,", end);
    EXPECT_NE(end.err, "");
    expect_in("\n  waiting     unknown: ", as_reader({"who", waited_for}));
    give_back("pubsub|shardnumsub");

    take_away("info");
    expect_holders_told();
    expect_refused("info");
}

TEST_F(list_rights_in_a_cluster, slow_are_enough_while_a_hash_slot_moves) {
    const std::string moving = group.name_in(0, "moving");
    raw_client first = group.raw(0);
    take_as_stranger(first, moving, std::chrono::minutes{10});
    group.begin_migration(slot_of(moving), 0, 1);
    group.move_key(moving, 0, 1);
    expect_in(": mutex, locked\n", as_reader({"who", moving}));
    EXPECT_EQ(refused(), words{});
    take_away("asking");
    EXPECT_EQ(as_reader({"who", moving}).status, 69);
    expect_refused("asking");
}

class list_rights_with_sentinels : public list_rights_of<sentinel_group> {
protected:
    list_rights_with_sentinels() : list_rights_of{sentinel_group::server_count, 2} {
        url = with_query(url, user_of_sentinels());
        hold({"lock"});
    }
};

TEST_F(list_rights_with_sentinels, slow_are_enough_and_each_is_needed) {
    expect_holders_told();
    EXPECT_EQ(refused(), words{});
    take_away("info");
    expect_holders_told();
    expect_refused("info");
}

}  // namespace
