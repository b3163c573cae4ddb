// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::wire::listener;
using conch::wire::news;
using conch::wire::subscriptions;

struct ear {
    static void hear(void* self, news what) {
        ear& e = *static_cast<ear*>(self);
        e.heard.push_back(what == news::message      ? "message"
                          : what == news::subscribed ? "subscribed"
                          : what == news::ended      ? "ended"
                                                     : "failed");
        if (e.leaves) {
            e.leaves->remove(e.at);
        }
    }
    lines heard{};
    subscriptions* leaves = nullptr;
    listener at{this, &ear::hear};
};

struct wire_subscriptions : testing::Test {
    link_harness h{};
    note a{plain_note, "a"};
    subscriptions& subs = h.link.channels();
    ear first{};
    ear second{};
    const std::string channel = channel_of("x");

    wire_subscriptions() {
        h.submit(a);
        h.connect();
        h.sent();
        h.reply(ok());
    }
    ~wire_subscriptions() override {
        subs.remove(first.at);
        subs.remove(second.at);
        h.link.close();
        EXPECT_EQ(subs.size(), 0u);
    }
    void subscribe() {
        subs.add(first.at, channel);
        h.sent();
        h.reply(subscribed("x"));
        first.heard.clear();
    }
};

TEST_F(wire_subscriptions, a_listener_subscribes_and_hears_that_it_did) {
    subs.add(first.at, channel);
    EXPECT_EQ(h.sent(), lines{subscribe_of("x")});
    h.reply(subscribed("x"));
    EXPECT_EQ(first.heard, lines{"subscribed"});
}

TEST_F(wire_subscriptions, a_message_reaches_all_listeners_of_its_channel_only) {
    subscribe();
    ear other;
    subs.add(second.at, channel);
    subs.add(other.at, channel_of("y"));
    EXPECT_EQ(h.sent(), lines{subscribe_of("y")}) << "the first channel is shared";
    h.reply(subscribed("y"));
    h.reply(released("x"));
    EXPECT_EQ(first.heard, lines{"message"});
    EXPECT_EQ(second.heard, lines{"message"});
    EXPECT_EQ(other.heard, lines{"subscribed"});
    subs.remove(other.at);
}

TEST_F(wire_subscriptions, the_last_listener_to_leave_ends_it) {
    subscribe();
    subs.add(second.at, channel);
    subs.remove(first.at);
    EXPECT_EQ(h.sent(), lines{});
    subs.remove(second.at);
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("x")});
    h.reply(unsubscribed("x"));
    EXPECT_EQ(subs.size(), 0u);
}

TEST_F(wire_subscriptions, nobody_waits_for_its_end_alone) {
    EXPECT_FALSE(h.connection.hurries());
    subs.add(first.at, channel);
    EXPECT_TRUE(h.connection.hurries());
    h.sent();
    h.reply(subscribed("x"));
    subs.remove(first.at);
    EXPECT_TRUE(h.connection.has_output());
    EXPECT_FALSE(h.connection.hurries());
    note b{plain_note, "b"};
    h.submit(b);
    EXPECT_TRUE(h.connection.hurries());
    EXPECT_EQ(h.sent(), (lines{unsubscribe_of("x"), "b"}));
    h.reply(unsubscribed("x") + ok());
    subs.add(first.at, channel);
    EXPECT_TRUE(h.connection.hurries()) << "it begins anew";
    h.sent();
    h.reply(subscribed("x"));
}

TEST_F(wire_subscriptions, a_refusal_is_told_and_not_repeated_on_this_connection) {
    subs.add(first.at, channel);
    h.sent();
    EXPECT_TRUE(subscriptions::works(first.at));
    h.reply(error("NOPERM this user has no permissions to access one of the channels"));
    EXPECT_EQ(first.heard, lines{"failed"});
    EXPECT_FALSE(subscriptions::works(first.at));
    h.advance(5s);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(wire_subscriptions, a_refused_one_is_tried_again_on_the_next_connection) {
    subs.add(first.at, channel);
    h.sent();
    h.reply(error("NOPERM no"));
    h.connection.broken("reset");
    h.connect(2, "other process");
    EXPECT_EQ(h.sent(), lines{subscribe_of("x")});
}

TEST_F(wire_subscriptions, what_the_server_ends_is_subscribed_again_and_told) {
    subscribe();
    h.reply(unsubscribed("x"));
    EXPECT_EQ(h.sent(), lines{subscribe_of("x")});
    h.reply(subscribed("x"));
    EXPECT_EQ(first.heard, (lines{"ended", "subscribed"}));
}

TEST_F(wire_subscriptions, after_a_reconnect_it_is_subscribed_again_before_any_replay) {
    subscribe();
    h.submit(a);
    h.sent();
    h.connection.broken("reset");
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", subscribe_of("x"), "a"}));
    h.reply(integer(1) + subscribed("x"));
    EXPECT_EQ(first.heard, lines{"subscribed"});
}

TEST_F(wire_subscriptions, one_that_came_and_went_before_the_write_is_never_sent) {
    subs.add(first.at, channel);
    subs.remove(first.at);
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(subs.size(), 0u);
}

TEST_F(wire_subscriptions, leaving_while_subscribe_is_in_flight_unsubscribes_after_the_answer) {
    subs.add(first.at, channel);
    h.sent();
    subs.remove(first.at);
    EXPECT_EQ(h.sent(), lines{});
    h.reply(subscribed("x"));
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("x")});
    h.reply(unsubscribed("x"));
    EXPECT_EQ(first.heard, lines{});
    EXPECT_EQ(subs.size(), 0u);
}

TEST_F(wire_subscriptions, coming_back_while_subscribe_is_in_flight_sends_nothing_more) {
    subs.add(first.at, channel);
    h.sent();
    subs.remove(first.at);
    subs.add(first.at, channel);
    h.reply(subscribed("x"));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(first.heard, lines{"subscribed"});
}

TEST_F(wire_subscriptions, coming_back_while_unsubscribe_is_in_flight_subscribes_again) {
    subscribe();
    subs.remove(first.at);
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("x")});
    subs.add(second.at, channel);
    h.reply(unsubscribed("x"));
    EXPECT_EQ(h.sent(), lines{subscribe_of("x")});
    h.reply(subscribed("x"));
    EXPECT_EQ(second.heard, lines{"subscribed"});
}

TEST_F(wire_subscriptions, coming_back_before_unsubscribe_is_written_takes_it_back) {
    subscribe();
    subs.remove(first.at);
    subs.add(second.at, channel);
    EXPECT_EQ(h.sent(), lines{});
    h.reply(released("x"));
    EXPECT_EQ(second.heard, lines{"message"});
}

TEST_F(wire_subscriptions, a_message_between_unsubscribe_and_its_answer_is_ours) {
    subscribe();
    subs.remove(first.at);
    h.sent();
    h.reply(released("x") + unsubscribed("x"));
    EXPECT_TRUE(h.link.ready());
    EXPECT_EQ(h.counters.unknown_pushes, 0u);
    EXPECT_EQ(first.heard, lines{});
}

TEST_F(wire_subscriptions, a_listener_may_leave_while_it_hears) {
    subscribe();
    subs.add(second.at, channel);
    first.leaves = &subs;
    h.reply(released("x"));
    EXPECT_EQ(first.heard, lines{"message"});
    EXPECT_EQ(second.heard, lines{"message"});
    first.leaves = nullptr;
}

TEST_F(wire_subscriptions, the_last_listener_may_leave_while_it_hears_of_a_refusal) {
    subs.add(first.at, channel);
    h.sent();
    first.leaves = &subs;
    h.reply(error("NOPERM no"));
    EXPECT_EQ(subs.size(), 0u);
    first.leaves = nullptr;
}

TEST_F(wire_subscriptions, one_without_listeners_is_forgotten_when_the_connection_breaks) {
    subscribe();
    subs.remove(first.at);
    h.sent();
    h.connection.broken("reset");
    EXPECT_EQ(subs.size(), 0u);
    h.connect(2, "other process");
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(wire_subscriptions, a_text_reply_to_subscribe_is_a_protocol_error) {
    subs.add(first.at, channel);
    h.sent();
    h.reply(ok());
    EXPECT_FALSE(h.link.ready());
}

}  // namespace
