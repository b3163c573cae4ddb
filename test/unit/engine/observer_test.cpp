// SPDX-License-Identifier: BSL-1.0
// What an observer, the log and the counters are told of waits and holds, on virtual time.
#include "unit/engine/harness.hpp"
#include "unit/engine/rate_fixture.hpp"
#include "unit/wire/text.hpp"

#include <conch/observer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// Keeps what it was told; the names too, which end with the call.
class recorder final : public observer {
public:
    void wait_began(const wait_span& w) noexcept override {
        story.push_back("waits for " + std::string{w.name});
    }
    void waited(const wait_span& w) noexcept override {
        waits.push_back(w);
        names.emplace_back(w.name);
        story.push_back("waited: " + std::to_string(w.number));
    }
    void hold_began(const hold_span& h) noexcept override {
        story.push_back("holds " + std::string{h.name} + ": " + std::to_string(h.number));
    }
    void held(const hold_span& h) noexcept override {
        holds.push_back(h);
        names.emplace_back(h.name);
        story.push_back("held: " + std::to_string(h.number));
    }
    void renewed(const renewal_span& r) noexcept override {
        renewals.push_back(r);
        names.emplace_back(r.name);
    }
    void rate_asked(const rate_span& r) noexcept override {
        rates.push_back(r);
        names.emplace_back(r.name);
    }
    void connection_changed(const connection_change& c) noexcept override {
        connections.push_back(c.now);
        servers.emplace_back(c.server);
    }
    std::vector<wait_span> waits{};
    std::vector<hold_span> holds{};
    std::vector<renewal_span> renewals{};
    std::vector<rate_span> rates{};
    std::vector<connection_state> connections{};
    std::vector<std::string> names{};
    std::vector<std::string> servers{};  ///< of the connections
    std::vector<std::string> story{};  ///< waits and holds, in their order
};

config observed(const std::shared_ptr<recorder>& r) {
    config c = quiet();
    c.observer = r;
    return c;
}

struct engine_observer : ::testing::Test {
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    engine_harness h{observed(told)};
};

TEST_F(engine_observer, a_granted_wait_and_a_released_hold_have_the_number_of_the_field) {
    const operation& op = h.lock("a");
    h.connect();
    h.advance(3ms);
    h.reply(granted());
    ASSERT_EQ(told->waits.size(), 1U);
    const wait_span& w = told->waits[0];
    EXPECT_EQ(w.client, "c");
    EXPECT_EQ(w.number, 1U);
    EXPECT_EQ(w.ended - w.began, 3ms);
    EXPECT_FALSE(w.contended);
    EXPECT_FALSE(w.result);
    EXPECT_TRUE(told->holds.empty());
    h.advance(2s);
    h.release(op.view);
    ASSERT_EQ(told->holds.size(), 1U);
    const hold_span& held = told->holds[0];
    EXPECT_EQ(held.client, "c");
    EXPECT_EQ(held.number, 1U);
    EXPECT_EQ(held.ended - held.began, 2s);
    EXPECT_EQ(held.renewals, 0U);
    EXPECT_FALSE(held.reason);
    EXPECT_EQ(told->names, (std::vector<std::string>{"a", "a"}));
}

TEST_F(engine_observer, each_wait_and_each_hold_is_told_when_it_begins_and_when_it_ends) {
    const auto first = h.grant("a");
    h.lock("a");
    h.release(first);
    h.try_lock("a");
    EXPECT_EQ(told->story, (std::vector<std::string>{"waits for a", "waited: 1", "holds a: 1",
                                                     "waits for a", "held: 1", "waited: 1",
                                                     "holds a: 1", "waits for a", "waited: 0"}))
        << "the second got it locally";
}

TEST_F(engine_observer, a_lock_has_the_same_memo_each_time) {
    const impl::spec_ptr lock = h.spec("a");
    for (int i = 0; i < 2; ++i) {
        h.release(h.grant("a"));
        h.reply(integer(0));
    }
    ASSERT_EQ(told->waits.size(), 2U);
    ASSERT_EQ(told->holds.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(told->waits[i].memo, &lock->memo());
        EXPECT_EQ(told->holds[i].memo, &lock->memo());
    }
}

TEST_F(engine_observer, a_wait_that_ends_in_nesting_is_told_to_have_ended) {
    const owner self;
    h.lock("a", {.owner = &self});
    operation& nested = h.lock("a", {.owner = &self});
    h.connect();
    h.reply(granted());
    h.reply(integer(1));
    ASSERT_TRUE(nested.granted());
    EXPECT_EQ(told->story, (std::vector<std::string>{"waits for a", "waits for a", "waited: 1",
                                                     "holds a: 1", "waited: 1", "holds a: 1"}));
}

TEST_F(engine_observer, a_busy_try_and_a_timeout_are_told_apart) {
    h.try_lock("a");
    h.connect();
    h.reply(integer(1000));
    h.lock("a", {.wait = 0ns});
    h.reply(integer(1000));
    ASSERT_EQ(told->waits.size(), 2U);
    EXPECT_EQ(told->waits[0].number, 0U);
    EXPECT_TRUE(told->waits[0].contended);
    EXPECT_FALSE(told->waits[0].result);
    EXPECT_EQ(told->waits[1].result, errc::timed_out);
}

TEST_F(engine_observer, who_queues_behind_a_local_hold_is_contended) {
    const auto first = h.grant("a");
    h.lock("a");
    h.release(first);
    h.reply(integer(0), granted());
    ASSERT_EQ(told->waits.size(), 2U);
    EXPECT_TRUE(told->waits[1].contended);
    EXPECT_EQ(h.counters().contended, 1U);
}

TEST_F(engine_observer, a_cancelled_wait_has_its_error) {
    h.grant("a");
    h.cancel(h.lock("a"));
    ASSERT_EQ(told->waits.size(), 2U);
    EXPECT_TRUE(told->waits[1].result);
    EXPECT_EQ(told->waits[1].number, 0U);
}

TEST_F(engine_observer, a_lost_hold_has_its_reason) {
    h.grant("a", {.lease = 1s, .renew = false});
    h.advance(1s);
    ASSERT_EQ(told->holds.size(), 1U);
    EXPECT_EQ(told->holds[0].reason, errc::lease_expired);
}

TEST_F(engine_observer, renewals_are_counted_for_each_hold) {
    const auto hold = h.grant("a", {.lease = 300ms});
    for (int i = 0; i < 3; ++i) {
        h.advance(100ms);
        h.reply(array(integer(1)));
    }
    h.detach(hold);
    ASSERT_EQ(told->holds.size(), 1U);
    EXPECT_EQ(told->holds[0].renewals, 3U);
    EXPECT_FALSE(told->holds[0].reason);
}

TEST_F(engine_observer, a_renewal_is_told_with_its_lateness) {
    h.grant("a", {.lease = 3s});
    h.advance(1s);
    h.reply(array(integer(1)));
    h.skip(1200ms);
    h.turn();
    h.reply(array(integer(1)));
    ASSERT_EQ(told->renewals.size(), 2U);
    EXPECT_EQ(told->renewals[0].late, 0ns);
    EXPECT_EQ(told->renewals[1].late, 200ms);
    EXPECT_EQ(told->renewals[1].number, 1U);
    EXPECT_EQ(told->names.back(), "a");
}

TEST_F(engine_observer, an_extension_is_a_renewal_that_is_not_late) {
    const auto hold = h.grant("a", {.lease = 10s, .renew = false});
    h.advance(1s);
    h.extend(hold, 10s);
    h.reply(array(integer(1)));
    ASSERT_EQ(told->renewals.size(), 1U);
    EXPECT_EQ(told->renewals[0].late, 0ns);
}

TEST_F(engine_observer, each_request_to_a_rate_limit_is_told_with_its_end) {
    const impl::rate_spec_ptr calls{
        new impl::rate_spec{"calls", {5, 1s}, rate_algorithm::fixed_window}};
    h.try_permits(calls, 2);
    h.connect();
    h.advance(3ms);
    h.reply(counted(1, 2, 0, 1000));
    h.try_permits(calls, 4);
    h.reply(counted(0, 2, 900, 1000));
    h.cancel(h.permits(calls, 4));
    ASSERT_EQ(told->rates.size(), 3U);
    EXPECT_TRUE(told->rates[0].granted);
    EXPECT_EQ(told->rates[0].permits, 2U);
    EXPECT_EQ(told->rates[0].ended - told->rates[0].began, 3ms);
    EXPECT_FALSE(told->rates[1].granted);
    EXPECT_FALSE(told->rates[1].result);
    EXPECT_FALSE(told->rates[2].granted);
    EXPECT_TRUE(told->rates[2].result);
    EXPECT_EQ(told->names, (std::vector<std::string>{"calls", "calls", "calls"}));
}

TEST_F(engine_observer, nested_holds_have_spans_of_their_own_with_the_same_number) {
    const owner self;
    const auto outer = h.grant("a", {.owner = &self});
    operation& nested = h.lock("a", {.owner = &self});
    h.reply(integer(1));
    ASSERT_TRUE(nested.granted());
    EXPECT_EQ(told->waits.size(), 1U) << "nested acquires wait for nobody";
    h.release(nested.view);
    h.release(outer);
    ASSERT_EQ(told->holds.size(), 2U);
    EXPECT_EQ(told->holds[0].number, told->holds[1].number);
}

TEST_F(engine_observer, a_connection_is_told_of_until_the_client_has_none) {
    h.grant("a");
    h.break_connection();
    h.connect();
    h.close();
    using enum connection_state;
    EXPECT_EQ(told->connections, (std::vector<connection_state>{down, up, down, up, unused}));
    EXPECT_EQ(told->servers, std::vector<std::string>(5, "127.0.0.1:6379"));
}

TEST_F(engine_observer, the_end_of_the_client_is_told) {
    h.grant("a");
    h.lock("a");
    h.close();
    ASSERT_EQ(told->waits.size(), 2U);
    EXPECT_EQ(told->waits[1].result, errc::client_closed);
    ASSERT_EQ(told->holds.size(), 1U);
    EXPECT_EQ(told->holds[0].reason, errc::client_closed);
}

TEST(engine_counters, waits_are_summed_up) {
    engine_harness h;
    h.lock("a");
    h.connect();
    h.advance(2ms);
    h.reply(granted());
    h.lock("b");
    h.advance(5ms);
    h.reply(granted());
    EXPECT_EQ(h.counters().waits, 2U);
    EXPECT_EQ(h.counters().wait_time, 7ms);
    EXPECT_EQ(h.counters().longest_wait, 5ms);
}

TEST(engine_counters, a_late_renewal_is_counted_with_its_lateness) {
    engine_harness h;
    h.grant("a", {.lease = 3s});
    h.advance(1s);
    h.reply(array(integer(1)));
    EXPECT_EQ(h.counters().renewal_lateness, 0ns);
    h.skip(1200ms);
    h.turn();
    h.reply(array(integer(1)));
    EXPECT_EQ(h.counters().renewal_lateness, 200ms);
    EXPECT_EQ(h.counters().latest_renewal, 200ms);
}

TEST(engine_counters, a_broken_connection_leaves_what_was_unanswered_in_doubt) {
    engine_harness h;
    h.lock("a");
    h.lock("b");
    h.connect();
    h.break_connection();
    EXPECT_EQ(h.counters().connection_losses, 1U);
    EXPECT_EQ(h.counters().in_doubt, 2U);
}

TEST(engine_counters, refused_renewals_are_a_loss_of_their_own) {
    engine_harness h;
    h.grant("a", {.lease = 300ms});
    h.advance(100ms);
    h.reply(array(error("READONLY You can't write against a read only replica.")));
    h.advance(300ms);
    EXPECT_EQ(h.counters().lost_refused, 1U);
    EXPECT_EQ(h.counters().lost_expired, 0U);
}

TEST(engine_log, has_no_line_for_each_lock_unless_asked) {
    std::vector<std::string> lines_;
    config c = quiet();
    c.log = [&](log_level, std::string_view line) { lines_.emplace_back(line); };
    {
        engine_harness h{c};
        h.release(h.grant("a"));
        h.reply(integer(0));
    }
    for (const std::string& line : lines_) {
        EXPECT_EQ(line.find("granted"), std::string::npos) << line;
    }
    c.least_log_level = log_level::debug;
    lines_.clear();
    {
        engine_harness h{c};
        h.release(h.grant("a"));
        h.reply(integer(0));
    }
    EXPECT_EQ(std::count(lines_.begin(), lines_.end(), "granted: a after 0 us"), 1);
    EXPECT_EQ(std::count(lines_.begin(), lines_.end(), "released: a"), 1);
}

}  // namespace
