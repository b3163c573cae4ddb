// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/link_harness.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

// A link that wants a master, and meets replicas.
namespace {

using namespace conch::test;

const std::string read_only = error("READONLY You can't write against a read only replica.");

constexpr conch::wire::joint_script together{
    {conch::wire::script_id::release, conch::wire::script_id::release_many}, 1, 0};
void write_alone(conch::wire::call& c, conch::resp::writer& w) {
    conch::wire::write_script(w, c, together.scripts.one, 1, 0)
        .arg(static_cast<const note&>(c).text);
}
constexpr conch::wire::joint_form joint{
    .script = [](const conch::wire::call&) { return together; },
    .write =
        [](std::span<conch::wire::call* const> calls, conch::resp::writer& w) {
            const conch::wire::script_id many = together.scripts.many;
            conch::wire::write_script(w, *calls.front(), many, calls.size(), 1);
            for (const conch::wire::call* c : calls) {
                w.arg(static_cast<const note*>(c)->text);
            }
            w.arg(calls.size());
        }};
constexpr conch::wire::call_type joint_note{.name = "joint",
                                            .after_loss = conch::wire::retry::replay,
                                            .order = conch::wire::priority::normal,
                                            .kind = conch::wire::call_kind::script,
                                            .encode = &write_alone,
                                            .done = &note::done,
                                            .joint = &joint};

struct wire_link_role : testing::Test {
    link_harness h{{}, conch::wire::role::master};

    ~wire_link_role() override { h.link.close(); }
    /// Connects, and answers as a master with data of this history.
    void connect(std::int64_t id = 1, std::string_view data = "data") {
        h.wait_for_attempt();
        h.connection.connected();
        h.sent();
        std::string answers =
            hello(id) + replication("master", data) + info("run " + std::to_string(id));
        for (std::size_t i = 0; i < conch::wire::preloaded_scripts; ++i) {
            answers += bulk("sha");
        }
        h.reply(answers);
        ASSERT_TRUE(h.link.ready());
    }
};

TEST_F(wire_link_role, calls_that_a_replica_refuses_together_leave_together_again) {
    h.link.join_from(2);
    note a{joint_note, "a"}, b{joint_note, "b"}, c{joint_note, "c"};
    h.submit(a);
    h.submit(b);
    h.submit(c);
    connect();
    EXPECT_EQ(h.sent(), lines{"release_many a b c 3"});
    b.abandon();
    h.reply(read_only);
    EXPECT_EQ(h.connection.wanted(), 0u) << "left";
    EXPECT_EQ(b.ends.size(), 1u) << "never sent again";
    connect(2);
    EXPECT_EQ(h.sent(), lines{"release_many a c 2"});
    EXPECT_EQ(a.ends, lines{});
}

TEST_F(wire_link_role, each_of_them_may_be_refused_by_itself) {
    h.link.join_from(2);
    note a{joint_note, "a"}, b{joint_note, "b"};
    h.submit(a);
    h.submit(b);
    connect();
    h.sent();
    h.reply(array(read_only, read_only));
    EXPECT_EQ(h.connection.wanted(), 0u);
    connect(2);
    EXPECT_EQ(h.sent(), lines{"release_many a b 2"}) << "in their order";
}

TEST_F(wire_link_role, a_replica_without_its_master_is_left_too) {
    note a{plain_note, "a"};
    h.submit(a);
    connect();
    h.sent();
    h.reply(
        error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."));
    EXPECT_EQ(h.connection.wanted(), 0u);
    EXPECT_EQ(h.astray, 1);
    connect(2);
    EXPECT_EQ(h.sent(), lines{"a"});
}

TEST_F(wire_link_role, a_subscription_that_is_refused_as_a_write_ends_with_its_connection) {
    conch::wire::listener ear{nullptr, [](void*, conch::wire::news) {}};
    std::int64_t id = 0;
    for (const std::string_view words : {"READONLY", "MASTERDOWN"}) {
        note a{plain_note, "a"};
        h.submit(a);
        h.link.channels().add(ear, "channel");
        connect(++id);
        EXPECT_EQ(h.sent(), (lines{"a", "SUBSCRIBE channel"}));
        h.reply(integer(1) + push("subscribe", "channel", integer(1)));
        h.link.channels().remove(ear);
        EXPECT_EQ(h.sent(), lines{"UNSUBSCRIBE channel"});
        h.reply(error(words));
        h.connection.broken("reset");
        EXPECT_EQ(h.link.channels().size(), 0u);
    }
}

TEST_F(wire_link_role, too_few_replicas_may_pass) {
    note a{plain_note, "a"};
    h.submit(a);
    connect();
    h.sent();
    h.reply(error("NOREPLICAS Not enough good replicas to write."));
    EXPECT_EQ(a.ends, lines{});
    EXPECT_TRUE(h.link.ready());
    h.advance(std::chrono::milliseconds{100});
    EXPECT_EQ(h.sent(), lines{"a"});
}

TEST_F(wire_link_role, moves_to_other_data_are_counted_when_they_are_met) {
    note a{plain_note, "a"};
    h.submit(a);
    connect();
    EXPECT_EQ(h.link.moves(), 0);
    h.link.move_to({"other", 1, {}});
    EXPECT_EQ(h.link.moves(), 0);
    h.link.move_to(conch::wire::address::of(h.settings));
    connect(2);
    EXPECT_EQ(h.link.moves(), 0) << "it was never met there";
    h.link.move_to({"other", 1, {}});
    connect(3, "other data");
    EXPECT_EQ(h.link.moves(), 1);
    h.connection.broken("reset");
    connect(4, "other data");
    EXPECT_EQ(h.link.moves(), 1);
}

// A master that became a replica has thrown away what its own master lacked. Nobody has to see it
// as a replica: its data have another id, once it is a master again.
TEST_F(wire_link_role, a_server_that_was_a_replica_meanwhile_is_another_one) {
    note a{plain_note, "a"};
    h.submit(a);
    connect();
    h.connection.broken("reset");
    connect(2);
    EXPECT_EQ(h.link.moves(), 0);
    h.connection.broken("reset");
    connect(3, "since its promotion");
    EXPECT_EQ(h.link.moves(), 1);
}

TEST_F(wire_link_role, a_server_that_does_not_tell_of_its_data_is_another_one) {
    note a{plain_note, "a"};
    h.submit(a);
    connect(1, "");
    for (std::int64_t id = 2; id < 4; ++id) {
        h.connection.broken("reset");
        connect(id, "");
        EXPECT_EQ(h.link.moves(), id - 1);
    }
}

}  // namespace
