// SPDX-License-Identifier: BSL-1.0
// The plain key with a token: the native command first, scripts where it would not do; in all else
// the same slot machine.
#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::impl::view_ptr;

constexpr const char* set_a = "SET a c:1 NX PX 30000";
const std::string null = "_\r\n";

std::string channel() { return "conch_token_mutex_channel:{a}"; }

struct engine_token : testing::Test {
    engine_token() { h.use(conch::protocol::value_lock_protocol, "a"); }

    /// Held, with nothing on its way.
    view_ptr hold(const conch::lock_options& o = {}) {
        operation& op = h.lock("a", o);
        h.connect();
        h.sent();
        h.reply(ok());
        EXPECT_TRUE(op.granted());
        return op.view;
    }

    engine_harness h{};
};

TEST_F(engine_token, the_first_try_is_the_native_command) {
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{set_a});
    const auto sent = h.now();
    h.advance(100ms);
    h.reply(ok());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(sent, 30s)) << "from its sending on";
}

TEST_F(engine_token, a_try_without_wait_costs_one_command) {
    operation& op = h.try_lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{set_a});
    h.reply(null);
    EXPECT_TRUE(op.ended({}));
    EXPECT_FALSE(op.view);
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_token, who_waits_listens_and_asks_for_the_holders_time_left) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.reply(null);
    EXPECT_EQ(h.sent(), (lines{"SUBSCRIBE " + channel(), "value_acquire a c:2 30000 0"}));
    h.reply(push("subscribe", channel(), integer(1)), busy(400));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(401ms);
    EXPECT_EQ(h.sent(), lines{"value_acquire a c:3 30000 0"}) << "no message came";
    h.reply(granted());
    EXPECT_TRUE(op.granted());
}

TEST_F(engine_token, a_first_copy_that_may_have_run_is_asked_for_by_the_script) {
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{set_a});
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent().back(), "value_acquire a c:1 30000 0")
        << "SET NX would find its own key, and not renew it";
    const auto sent = h.now();
    h.reply(integer(1), granted());
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(valid_until(op.view), conch::core::lease_end(sent, 30s));
}

TEST_F(engine_token, a_first_copy_that_did_not_run_is_made_anew) {
    h.lock("a");
    h.connect();
    h.sent();
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    h.advance(1s);
    EXPECT_EQ(h.sent(), lines{set_a});
}

TEST_F(engine_token, a_fencing_token_needs_the_script) {
    h.use(conch::protocol::value_lock_protocol, "a", {.fenced = true});
    operation& op = h.lock("a");
    h.connect();
    EXPECT_EQ(h.sent(), lines{"value_acquire a conch_token_mutex_fence:{a} c:1 30000 604800000"});
    h.reply(granted("1234567"));
    EXPECT_TRUE(op.granted());
    EXPECT_EQ(op.view->fence, 1'234'567U);
}

TEST_F(engine_token, is_released_by_comparing) {
    const view_ptr v = hold();
    operation& op = h.unlock(v);
    EXPECT_EQ(h.sent(), lines{"value_release a c:1 " + channel()});
    h.reply(integer(-1));
    EXPECT_TRUE(op.ended(errc::lock_lost));
}

TEST_F(engine_token, an_abandoned_native_try_is_released_when_it_took_the_lock) {
    operation& op = h.lock("a");
    h.connect();
    h.sent();
    h.cancel(op);
    h.reply(ok());
    EXPECT_EQ(h.sent(), lines{"value_release a c:1 " + channel()});
}

TEST_F(engine_token, each_family_is_renewed_by_its_own_script) {
    hold();
    h.grant("b");
    h.grant("d");
    h.advance(10s);
    const std::vector<command> sent = h.sent_commands();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].text(), "value_renew a c:1 30000");
    EXPECT_EQ(sent[1].name, "renew");
    EXPECT_EQ(sent[1].keys.size(), 2U);
}

TEST_F(engine_token, a_mutex_of_the_same_name_is_another_lock_in_this_client) {
    const view_ptr v = hold();
    h.use(conch::protocol::mutex_protocol, "a");
    operation& op = h.lock("a");
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 2)}) << "it doesn't wait behind the local hold";
    h.reply(error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    EXPECT_TRUE(op.ended(errc::wrong_type));
    EXPECT_EQ(lost(v), errc{});
}

TEST_F(engine_token, nested_acquisitions_compare_too) {
    const conch::owner me;
    const view_ptr outer = hold({.owner = &me});
    operation& inner = h.lock("a", {.owner = &me});
    EXPECT_EQ(h.sent(), lines{"value_nest a c:1 2 30000"});
    h.reply(integer(1));
    EXPECT_TRUE(inner.granted());
}

TEST_F(engine_token, scripts_that_were_not_loaded_are_sent_in_full) {
    operation& op = h.unlock(hold());
    h.sent();
    h.reply(error("NOSCRIPT No matching script. Please use EVAL."));
    EXPECT_EQ(h.sent(), lines{"EVAL value_release a c:1 " + channel()});
    h.reply(integer(0));
    EXPECT_TRUE(op.ended({}));
}

TEST_F(engine_token, a_try_behind_a_release_that_is_not_confirmed_is_no_native_command) {
    const view_ptr held = hold();
    h.sent();
    h.turn([&] {
        h.release(held);
        h.try_lock("a");
    });
    const lines sent = h.sent();
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_TRUE(sent[0].starts_with("value_release a c:1")) << sent[0];
    EXPECT_TRUE(sent[1].starts_with("value_acquire a c:2"))
        << "which would overtake it: " << sent[1];
}

}  // namespace
