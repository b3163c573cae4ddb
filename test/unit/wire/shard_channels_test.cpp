// SPDX-License-Identifier: BSL-1.0
// A server that loses a part of the cluster says so of its channels in the form of the answer to
// SUNSUBSCRIBE: which reply is whose must not depend on that.
#include "unit/wire/link_harness.hpp"
#include "wire/hash_slot.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::wire::hash_slot_of;
using conch::wire::listener;
using conch::wire::news;

struct wire_shard_channels : testing::Test {
    static void hear(void* self, news what) {
        static_cast<wire_shard_channels*>(self)->heard.push_back(what == news::message ? "message"
                                                                 : what == news::subscribed
                                                                     ? "subscribed"
                                                                     : "failed");
    }

    wire_shard_channels() {
        h.submit(warm_up);
        h.connect();
        h.sent();
        h.reply(ok());
        h.link.channels().shard(true);
        h.link.channels().add(ear, channel);
        EXPECT_EQ(h.sent(), lines{"SSUBSCRIBE " + channel});
        h.reply(push("ssubscribe", channel, integer(1)));
        free_lock.hash_slot = held_lock.hash_slot = hash_slot_of("y");
        epoch = h.connection.wanted();
    }
    ~wire_shard_channels() override {
        h.link.channels().remove(ear);
        h.link.close();
    }

    /// Nobody listens any more, and behind the end of the subscription these leave.
    void leave_and_ask() {
        h.link.channels().remove(ear);
        h.submit(free_lock);
        h.submit(held_lock);
        EXPECT_EQ(h.sent().size(), 3u);
    }
    bool same_connection() const { return h.connection.wanted() == epoch; }
    std::string moved(std::uint16_t slot) const {
        return error("MOVED " + std::to_string(slot) + " 127.0.0.1:7001");
    }

    link_harness h{{}, conch::wire::role::any, true};
    note warm_up{plain_note, "a"};
    note free_lock{plain_note, "free"};
    note held_lock{plain_note, "held"};
    lines heard{};
    listener ear{this, &wire_shard_channels::hear};
    const std::string channel = channel_of("x");
    const std::string gone = push("sunsubscribe", channel, integer(0));
    std::uint64_t epoch = 0;
};

TEST_F(wire_shard_channels, the_end_of_a_subscription_is_answered_by_a_push) {
    leave_and_ask();
    h.reply(gone + integer(1) + error("ERR no"));
    EXPECT_EQ(free_lock.ends, lines{":1"});
    EXPECT_EQ(held_lock.ends, lines{"refused -6<ERR no>"});
    EXPECT_TRUE(same_connection());
}

TEST_F(wire_shard_channels, a_part_that_left_before_leaves_no_reply_to_another_call) {
    const auto slot = hash_slot_of(channel);
    for (const std::string& answer :
         {moved(slot), error("CLUSTERDOWN Hash slot not served"),
          error("BUSY Redis is busy running a script."),
          error("NOPERM this user has no permissions to run the 'sunsubscribe' command")}) {
        leave_and_ask();
        h.reply(gone + answer + integer(1) + integer(60000));
        EXPECT_FALSE(same_connection()) << answer;
        EXPECT_EQ(free_lock.ends, lines{}) << answer;
        EXPECT_EQ(held_lock.ends, lines{}) << "asked again on the next connection: " << answer;
        h.connect(static_cast<std::int64_t>(++epoch));
        EXPECT_EQ(h.sent().size(), 3u) << "the end of the old connection, and both";
        h.reply(integer(1) + integer(1) + integer(60000));
        EXPECT_EQ(free_lock.ends, lines{":1"});
        EXPECT_EQ(held_lock.ends, lines{":60000"});
        free_lock.ends.clear();
        held_lock.ends.clear();
        h.link.channels().add(ear, channel);
        h.sent();
        h.reply(push("ssubscribe", channel, integer(1)));
        epoch = h.connection.wanted();
    }
    EXPECT_EQ(h.redirected, 0);
}

TEST_F(wire_shard_channels, its_refusal_is_nobody_elses_where_nobody_else_waits) {
    h.link.channels().remove(ear);
    h.sent();
    h.reply(gone);
    h.reply(moved(hash_slot_of(channel)));
    h.submit(free_lock);
    h.sent();
    h.reply(moved(free_lock.hash_slot));
    EXPECT_EQ(free_lock.ends, lines{"elsewhere"}) << "the doubt is over";
    EXPECT_TRUE(same_connection());
}

TEST_F(wire_shard_channels, nor_are_the_refusals_of_two_parts_that_left) {
    listener other{this, &wire_shard_channels::hear};
    const std::string second = channel_of("y");
    h.link.channels().add(other, second);
    h.sent();
    h.reply(push("ssubscribe", second, integer(2)));
    h.link.channels().remove(ear);
    h.link.channels().remove(other);
    EXPECT_EQ(h.sent().size(), 2u);
    h.reply(gone + push("sunsubscribe", second, integer(0)));
    h.reply(moved(hash_slot_of(channel)) + moved(hash_slot_of(second)));
    EXPECT_TRUE(same_connection());
    h.submit(free_lock);
    h.sent();
    h.reply(moved(free_lock.hash_slot));
    EXPECT_EQ(free_lock.ends, lines{"elsewhere"}) << "the doubt is over";
}

TEST_F(wire_shard_channels, what_no_subscription_is_refused_with_is_no_doubt) {
    const auto slot = std::to_string(held_lock.hash_slot);
    for (const std::string& answer :
         {error("NOSCRIPT No matching script."), error("TRYAGAIN Multiple keys request"),
          error("NOPERM this user has no permissions to run the 'evalsha' command"),
          error("OOM command not allowed when used memory > 'maxmemory'."),
          error("ASK " + slot + " 127.0.0.1:7001"), moved(held_lock.hash_slot)}) {
        leave_and_ask();
        h.reply(gone + answer + integer(60000));
        EXPECT_TRUE(same_connection()) << answer;
        EXPECT_EQ(held_lock.ends, lines{":60000"}) << answer;
        held_lock.ends.clear();
        h.advance(1s);
        h.sent();
        if (free_lock.where == conch::wire::call::state::written) {
            h.reply(integer(1));
        }
        free_lock.ends.clear();
        h.link.channels().add(ear, channel);
        h.sent();
        h.reply(push("ssubscribe", channel, integer(1)));
    }
    EXPECT_EQ(h.redirected, 2);
}

TEST_F(wire_shard_channels, who_came_back_before_the_end_was_refused_listens_anew) {
    h.link.channels().remove(ear);
    EXPECT_EQ(h.sent(), lines{"SUNSUBSCRIBE " + channel});
    h.link.channels().add(ear, channel);
    h.reply(moved(hash_slot_of(channel)));
    EXPECT_EQ(h.sent(), lines{"SSUBSCRIBE " + channel}) << "who has it is asked then";
}

TEST_F(wire_shard_channels, a_part_that_leaves_while_others_are_answered_is_told_of_by_the_way) {
    h.submit(free_lock);
    h.link.channels().remove(ear);
    h.submit(held_lock);
    EXPECT_EQ(h.sent().size(), 3u);
    h.reply(gone + integer(1) + moved(hash_slot_of(channel)) + integer(60000));
    EXPECT_TRUE(same_connection());
    EXPECT_EQ(free_lock.ends, lines{":1"});
    EXPECT_EQ(held_lock.ends, lines{":60000"});
}

TEST_F(wire_shard_channels, a_redirection_of_another_part_answers_another_call) {
    h.submit(free_lock);
    h.submit(held_lock);
    h.sent();
    h.reply(moved(static_cast<std::uint16_t>(free_lock.hash_slot + 1)) + integer(60000));
    EXPECT_FALSE(same_connection());
    EXPECT_EQ(free_lock.ends, lines{});
    EXPECT_EQ(held_lock.ends, lines{});
}

}  // namespace
