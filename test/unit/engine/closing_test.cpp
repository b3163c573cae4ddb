// SPDX-License-Identifier: BSL-1.0
// The end of a client with a drain, and the warning ahead of a hold's end, on virtual time.
#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

TEST(engine_drain, holders_are_told_at_once_and_go_on_until_they_release) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    operation& told = h.wait_lost(v);
    h.shutdown(10s);
    EXPECT_TRUE(told.ended(errc::client_closed));
    EXPECT_EQ(lost(v), errc{});
    EXPECT_FALSE(h.engine.drained());
    operation& u = h.unlock(v);
    h.reply(integer(0));
    EXPECT_TRUE(u.ended({}));
    EXPECT_TRUE(h.engine.drained()) << "an early release ends the drain";
}

TEST(engine_drain, what_is_left_when_it_ends_is_lost_and_released) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    h.shutdown(2s);
    h.advance(1999ms);
    EXPECT_EQ(lost(v), errc{});
    h.sent();
    h.advance(1ms);
    EXPECT_EQ(lost(v), errc::client_closed);
    EXPECT_EQ(h.sent_commands().size(), 1U);
    h.reply(integer(0));
    EXPECT_TRUE(h.engine.drained());
}

TEST(engine_drain, renewal_goes_on) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 300ms});
    const time_point first = valid_until(v);
    h.shutdown(10s);
    h.sent();
    h.advance(100ms);
    EXPECT_EQ(h.sent_commands().size(), 1U);
    h.reply(array(integer(1)));
    EXPECT_GT(valid_until(v), first);
}

TEST(engine_drain, newcomers_are_refused_and_waiters_leave) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    operation& waiting = h.lock("a");
    h.shutdown(10s);
    EXPECT_TRUE(waiting.ended(errc::client_closed));
    EXPECT_TRUE(h.lock("b").ended(errc::client_closed));
    EXPECT_TRUE(h.wait_lost(v).ended(errc::client_closed));
}

TEST(engine_drain, who_watches_ahead_of_time_is_told_ahead_of_its_end) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    operation& soon = h.wait_lost(v, 200ms);
    h.shutdown(10s);
    operation& sooner = h.wait_lost(v, 3s);
    h.advance(9s - 1ns);
    EXPECT_EQ(sooner.completions, 0) << "a tenth of the drain at most";
    h.advance(1ns);
    EXPECT_TRUE(sooner.ended(errc::client_closed));
    h.advance(800ms - 1ns);
    EXPECT_EQ(soon.completions, 0);
    h.advance(1ns);
    EXPECT_TRUE(soon.ended(errc::client_closed));
    EXPECT_EQ(lost(v), errc{}) << "time to release";
}

TEST(engine_drain, who_watches_ahead_of_time_is_told_of_a_drain_that_was_shortened) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    operation& soon = h.wait_lost(v, 1s);
    h.shutdown(20s);
    h.shutdown(2s);
    h.advance(1800ms - 1ns);
    EXPECT_EQ(soon.completions, 0);
    h.advance(1ns);
    EXPECT_TRUE(soon.ended(errc::client_closed));
}

TEST(engine_drain, a_lease_that_ends_in_it_is_told_by_its_own_reason) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 2s, .renew = false});
    operation& soon = h.wait_lost(v, 500ms);
    h.shutdown(60s);
    h.advance(valid_until(v) - 500ms - h.now());
    EXPECT_TRUE(soon.ended(errc::lease_expired));
}

TEST(engine_drain, who_still_holds_may_extend) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 1s, .renew = false});
    h.shutdown(10s);
    const operation& longer = h.extend(v, 20s);
    h.reply(array(integer(1)));
    EXPECT_TRUE(longer.ended({}));
    EXPECT_GT(valid_until(v), h.now() + 19s);
}

TEST(engine_drain, an_extension_on_its_way_ends_with_it) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    h.shutdown(1s);
    const operation& longer = h.extend(v, 60s);
    h.advance(1s);
    EXPECT_TRUE(longer.ended(errc::client_closed));
}

TEST(engine_drain, an_extension_waits_for_a_server_no_longer_than_otherwise) {
    conch::config c = quiet();
    c.operation_timeout = 2s;
    engine_harness h{c};
    const impl::view_ptr v = h.grant("a");
    h.shutdown(20s);
    h.break_connection();
    const operation& longer = h.extend(v, 60s);
    h.advance(2s - 1ns);
    EXPECT_FALSE(longer.done());
    h.advance(1ns);
    EXPECT_TRUE(longer.ended(errc::not_connected));
    EXPECT_EQ(lost(v), errc{}) << "the hold is as good as before";
}

TEST(engine_drain, extensions_are_as_many_as_may_be_pending) {
    conch::config c = quiet();
    c.max_pending = 2;
    engine_harness h{c};
    const impl::view_ptr v = h.grant("a");
    h.shutdown(20s);
    EXPECT_FALSE(h.extend(v, 40s).done());
    EXPECT_FALSE(h.extend(v, 41s).done());
    EXPECT_TRUE(h.extend(v, 42s).ended(errc::overloaded));
}

TEST(engine_drain, another_shutdown_only_shortens_it) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    h.shutdown(5s);
    h.shutdown(20s);
    h.shutdown(2s);
    h.shutdown(3s);
    h.advance(1999ms);
    EXPECT_EQ(lost(v), errc{});
    h.advance(1ms);
    EXPECT_EQ(lost(v), errc::client_closed);
}

TEST(engine_drain, a_shutdown_without_drain_ends_it) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    h.shutdown(5s);
    h.shutdown();
    EXPECT_EQ(lost(v), errc::client_closed);
}

TEST(engine_drain, it_may_be_as_long_as_a_duration_can_say) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    h.shutdown(forever);
    h.advance(1s);
    EXPECT_EQ(lost(v), errc{});
}

TEST(engine_warning, comes_so_long_before_the_deadline) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 2s, .renew = false});
    operation& soon = h.wait_lost(v, 500ms);
    h.advance(valid_until(v) - 500ms - h.now() - 1ns);
    EXPECT_EQ(soon.completions, 0);
    h.advance(1ns);
    EXPECT_TRUE(soon.ended(errc::lease_expired));
    EXPECT_EQ(lost(v), errc{}) << "not lost yet";
}

TEST(engine_warning, does_not_come_while_renewal_succeeds) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 300ms});
    operation& soon = h.wait_lost(v, 100ms);
    for (int i = 0; i < 10; ++i) {
        h.advance(100ms);
        h.reply(array(integer(1)));
    }
    EXPECT_EQ(soon.completions, 0);
    h.advance(valid_until(v) - 100ms - h.now());
    EXPECT_TRUE(soon.ended(errc::lease_expired)) << "renewal stopped";
}

TEST(engine_warning, names_the_reason_that_the_loss_would_have) {
    engine_harness h;
    const impl::view_ptr most = h.grant("a", {.lease = 1s, .max_hold = 800ms});
    operation& end = h.wait_lost(most, 100ms);
    h.advance(valid_until(most) - 100ms - h.now());
    EXPECT_TRUE(end.ended(errc::max_hold_reached));
}

TEST(engine_warning, comes_at_once_where_it_is_late_already) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 300ms});
    operation& soon = h.wait_lost(v, 10s);
    h.turn();
    EXPECT_TRUE(soon.ended(errc::lease_expired));
}

TEST(engine_warning, a_release_completes_it_without_error) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    operation& soon = h.wait_lost(v, 1s);
    h.unlock(v);
    EXPECT_TRUE(soon.ended({}));
}

TEST(engine_warning, may_be_cancelled) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a", {.lease = 300ms, .renew = false});
    operation& soon = h.wait_lost(v, 100ms);
    h.cancel(soon);
    EXPECT_EQ(soon.completions, 1);
    h.advance(1s);
    EXPECT_EQ(soon.completions, 1);
}

TEST(engine_warning, a_negative_time_is_refused) {
    engine_harness h;
    const impl::view_ptr v = h.grant("a");
    EXPECT_TRUE(h.wait_lost(v, -1ns).ended(errc::invalid_wait));
}

}  // namespace
