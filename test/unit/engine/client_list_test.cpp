// SPDX-License-Identifier: BSL-1.0
// Where the holder of a lock is, and how many wait: what `status_options::clients` asks for.
#include "protocol/client_list.hpp"
#include "unit/engine/harness.hpp"

namespace {

using namespace conch;
using namespace conch::test;

constexpr const char* holder = "5c1e0a8e-0000-4000-8000-000000000000:7";

lock_status located(std::string_view list) {
    lock_status s;
    s.locked = true;
    s.holder = holder;
    protocol::locate_holder(s, list);
    return s;
}

TEST(client_list, the_holder_is_the_client_whose_name_ends_in_the_beginning_of_its_id) {
    const lock_status s = located(
        "id=3 addr=10.0.0.1:1 laddr=10.0.0.9:6379 fd=8 name= age=2\n"
        "id=4 addr=10.0.0.2:2 laddr=10.0.0.9:6379 fd=8 name=conch:db:12:deadbeef age=2\n"
        "id=5 addr=10.0.0.3:3 laddr=10.0.0.9:6379 fd=9 name=shop:conch:web-1:4711:5c1e0a8e\n");
    EXPECT_EQ(s.holder_host, "web-1");
    EXPECT_EQ(s.holder_pid, 4711);
    EXPECT_EQ(s.holder_address, "10.0.0.3:3");
}

TEST(client_list, the_end_of_the_last_line_may_be_missing) {
    EXPECT_EQ(located("addr=[::1]:3 name=conch:web:1:5c1e0a8e").holder_address, "[::1]:3");
}

TEST(client_list, any_other_name_locates_nobody) {
    for (const char* const name :
         {"", ":", "::", ":::", "web:1:5c1e0a8", "web:1:", "web:1:5c1e0a8f", "1:5c1e0a8e",
          ":1:5c1e0a8e", "web::5c1e0a8e", "web:-1:5c1e0a8e", "web:0:5c1e0a8e", "web:1x:5c1e0a8e",
          "web:99999999999999999999:5c1e0a8e", "web:1:5c1e0a8e-0000-4000-8000-000000000000:71"}) {
        const lock_status s = located(join("id=5 addr=10.0.0.3:3 name=", name, " age=1\n"));
        EXPECT_EQ(s.holder_host, "") << name;
        EXPECT_EQ(s.holder_pid, 0) << name;
        EXPECT_EQ(s.holder_address, "") << name;
    }
    for (const char* const list : {"", "\n", "\n\n", "name", "=", " = ", "name=", "garbage"}) {
        EXPECT_EQ(located(list).holder_host, "") << list;
    }
}

class status_with_clients : public ::testing::Test {
protected:
    status_with_clients() { h.connect(); }
    void be_held() { h.reply(array(integer(1500), bulk(""), bulk(holder), bulk("1"))); }

    engine_harness h;
    lock_status s;
    operation& op = h.status("a", &s, {.clients = true});
};

TEST_F(status_with_clients, is_asked_step_by_step) {
    EXPECT_EQ(h.sent(), lines{"status a"});
    be_held();
    EXPECT_EQ(h.sent(), lines{join("PUBSUB NUMSUB ", channel_of("a"))});
    h.reply(array(bulk(channel_of("a")), integer(3)));
    EXPECT_EQ(h.sent(), lines{"CLIENT LIST"});
    EXPECT_FALSE(op.done());
    h.reply(bulk("addr=10.0.0.3:3 name=conch:web:1:5c1e0a8e\n"));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.holder, holder);
    EXPECT_EQ(s.waiting_clients, 3u);
    EXPECT_EQ(s.holder_host, "web");
}

TEST_F(status_with_clients, of_a_free_lock_asks_for_no_list) {
    h.reply(array(integer(-2), bulk("")));
    h.sent();
    h.reply(array(bulk(channel_of("a")), integer(0)));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.waiting_clients, 0u);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(status_with_clients, tells_the_rest_where_the_extras_are_refused) {
    be_held();
    h.reply(error("NOPERM this user has no permissions to run 'pubsub|numsub'"));
    h.reply(error("NOPERM this user has no permissions to run 'client|list'"));
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.holder, holder);
    EXPECT_EQ(s.waiting_clients, std::nullopt);
    EXPECT_EQ(s.holder_host, "");
}

TEST_F(status_with_clients, tells_the_rest_where_the_connection_breaks_and_asks_for_it_once) {
    be_held();
    h.reply(array(bulk(channel_of("a")), integer(3)));
    h.break_connection();
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.waiting_clients, 3u);
    h.sent();
    h.connect();
    for (const std::string& line : h.sent()) {
        EXPECT_NE(line, "CLIENT LIST");
    }
}

TEST_F(status_with_clients, tells_the_rest_where_an_extra_is_not_answered_in_time) {
    be_held();
    h.advance(h.settings.operation_timeout);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.holder, holder);
}

TEST_F(status_with_clients, that_is_cancelled_has_what_was_answered_and_is_not_touched_later) {
    be_held();
    h.cancel(op);
    EXPECT_TRUE(op.ended({}));
    EXPECT_EQ(s.holder, holder);
    h.reply(array(bulk(channel_of("a")), integer(3)));
    EXPECT_EQ(s.waiting_clients, std::nullopt);
}

}  // namespace
