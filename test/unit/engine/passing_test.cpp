// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

// A lock passes between waiters of one client with no word to the server: what one holder was
// promised is as good for the next.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;

conch::config passing(unsigned most) {
    conch::config c = quiet();
    c.max_passes = most;
    c.max_pass_time = 500ms;
    return c;
}

// Somebody holds "a", and nothing is left to read of that.
class engine_passing : public testing::Test {
protected:
    void hold(const lock_options& o = {}) { holder = h.grant("a", o); }

    // The holder releases, and this operation has the lock at once.
    void expect_passed_to(operation& next) {
        operation& released = h.unlock(holder);
        EXPECT_TRUE(released.ended({}));
        for (const std::string& line : h.sent()) {
            EXPECT_EQ(line, unsubscribe_of("a")) << "where nobody waits any more";
        }
        ASSERT_TRUE(next.granted());
        holder = next.view;
    }
    // The server hears of it.
    void expect_released() {
        operation& released = h.unlock(holder);
        EXPECT_FALSE(released.done());
        const lines sent = h.sent();
        ASSERT_FALSE(sent.empty());
        EXPECT_EQ(sent.front(), release_of("a", 1));
    }

    engine_harness h{passing(4)};
    conch::impl::view_ptr holder{};
};

TEST_F(engine_passing, the_next_holder_reports_progress_by_its_own_terms) {
    hold();
    operation& next = h.lock("a", {.progress_within = 1s});
    h.advance(3ms);
    expect_passed_to(next);
    operation& watch = h.wait_lost(next.view);
    for (const auto end = h.now() + 40s; h.now() < end && !watch.done(); h.advance(50ms)) {
        for (const std::string& line : h.sent()) {
            h.reply(line.starts_with("renew") ? array(integer(1)) : unsubscribed("a"));
        }
    }
    EXPECT_TRUE(watch.ended(errc::no_progress));
}

TEST_F(engine_passing, the_next_holder_has_the_lock_at_once_until_the_same_deadline) {
    hold();
    const auto until = holder->valid_until.load();
    operation& next = h.lock("a");
    h.advance(3ms);
    expect_passed_to(next);
    EXPECT_EQ(holder->valid_until.load(), until);
    EXPECT_EQ(h.counters().hand_offs, 1u);
    EXPECT_EQ(h.counters().acquisitions, 2u);
    EXPECT_EQ(h.counters().releases, 1u);
    EXPECT_EQ(h.counters().contended, 1u);
}

TEST_F(engine_passing, the_renewals_go_on) {
    hold();
    operation& next = h.lock("a");
    expect_passed_to(next);
    h.advance(10s);
    const lines sent = h.sent();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent.back(), renew_of("a", 1));
}

TEST_F(engine_passing, its_last_holder_releases_what_the_first_took) {
    hold();
    operation& next = h.lock("a");
    expect_passed_to(next);
    expect_released();
    h.reply(integer(0));
}

TEST_F(engine_passing, a_released_one_is_passed_on_too) {
    hold();
    operation& next = h.lock("a");
    h.release(holder);
    EXPECT_TRUE(next.granted());
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_passing, a_loss_is_told_to_who_has_it_now) {
    hold();
    operation& next = h.lock("a");
    operation& watched_first = h.wait_lost(holder);
    expect_passed_to(next);
    EXPECT_TRUE(watched_first.ended({})) << "that hold was released";
    operation& watched = h.wait_lost(holder);
    h.advance(10s);
    h.sent();
    h.reply(array(integer(0)));
    EXPECT_TRUE(watched.ended(errc::lock_lost));
    EXPECT_EQ(lost(holder), errc::lock_lost);
}

TEST_F(engine_passing, an_unlocked_hold_is_released_whatever_becomes_of_the_next_one) {
    hold();
    operation& next = h.lock("a");
    const auto first = holder;
    expect_passed_to(next);
    EXPECT_TRUE(h.unlock(first).ended(errc::already_released));
    EXPECT_EQ(h.sent(), lines{});
    EXPECT_EQ(lost(holder), errc{});
}

TEST_F(engine_passing, max_hold_counts_from_the_grant) {
    hold({.lease = 6s});
    h.advance(400ms);
    operation& next = h.lock("a", {.lease = 6s, .max_hold = 7s});
    expect_passed_to(next);
    h.advance(1600ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 5'400)}) << "7 s from the grant are over then";
    h.reply(array(integer(1)));
    EXPECT_EQ(valid_until(holder), conch::core::lease_end(h.now(), 5400ms));
}

TEST_F(engine_passing, after_max_passes_the_server_hears_of_a_release) {
    hold();
    for (std::size_t i = 0; i < 8; ++i) {
        h.lock("a");
    }
    for (std::size_t i = 1; i <= 3; ++i) {
        expect_passed_to(h.operation_at(i));
    }
    h.unlock(holder);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
    h.reply(integer(0), granted());  // nobody else waits
    holder = h.operation_at(4).view;
    ASSERT_TRUE(holder);
    for (std::size_t i = 5; i <= 7; ++i) {
        expect_passed_to(h.operation_at(i));
    }
}

TEST_F(engine_passing, a_row_goes_on_though_nobody_listens_in_between) {
    hold();
    for (int i = 0; i < 3; ++i) {
        operation& next = h.lock("a");
        h.advance(15ms);
        EXPECT_EQ(h.sent(), lines{subscribe_of("a")});
        h.reply(subscribed("a"));
        EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 30'000)});
        h.reply(array(integer(1)));
        expect_passed_to(next);
        h.reply(unsubscribed("a"));
    }
    h.lock("a");
    expect_released();
}

TEST_F(engine_passing, after_max_pass_time_the_server_hears_of_a_release) {
    hold();
    h.advance(499ms);
    expect_passed_to(h.lock("a"));
    h.lock("a");
    h.advance(1ms);
    expect_released();
}

TEST_F(engine_passing, others_who_came_meanwhile_get_their_turn_after_one_more_hold) {
    hold();
    for (std::size_t i = 0; i < 8; ++i) {
        h.lock("a");
    }
    for (std::size_t i = 1; i <= 3; ++i) {
        expect_passed_to(h.operation_at(i));
    }
    h.release(holder);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2)}));
    h.reply(integer(1), granted());  // somebody heard of it
    holder = h.operation_at(4).view;
    ASSERT_TRUE(holder);
    h.release(holder);
    EXPECT_EQ(h.sent(), (lines{release_of("a", 2), subscribe_of("a")})) << "their turn";
    // Nobody took it. The one who heard of the release is still there: we listened only later.
    h.reply(integer(1), subscribed("a"));
    h.advance(1ms);
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 3)});
    h.reply(granted());
    holder = h.operation_at(5).view;
    ASSERT_TRUE(holder);
    for (std::size_t i = 6; i <= 8; ++i) {
        expect_passed_to(h.operation_at(i));
    }
    h.lock("a");
    h.release(holder);
    EXPECT_EQ(h.sent(), lines{release_of("a", 3)}) << "their turn again, after one row";
}

TEST_F(engine_passing, not_if_less_than_two_thirds_of_the_lease_are_confirmed) {
    const lock_options brief{.lease = 600ms};
    hold(brief);
    h.skip(201ms);
    h.turn([&] {
        h.lock("a", brief);
        h.release(holder);
    });
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), acquire_of("a", 2, 600)}));
}

TEST_F(engine_passing, not_while_a_renewal_is_on_its_way) {
    const lock_options brief{.lease = 600ms};
    hold(brief);
    h.advance(200ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 600)});
    h.lock("a", brief);
    expect_released();
}

TEST_F(engine_passing, not_when_a_message_said_that_somebody_released_it) {
    hold();
    operation& next = h.lock("a");
    h.advance(10ms);
    EXPECT_EQ(h.sent(), lines{subscribe_of("a")});
    h.reply(subscribed("a"));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(1)));
    h.reply(released("a"));
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)}) << "is it still ours?";
    expect_released();
    EXPECT_FALSE(next.done());
}

TEST_F(engine_passing, not_before_a_new_connection_has_confirmed_it) {
    hold();
    operation& next = h.lock("a");
    h.break_connection();
    h.connect(2, "2222");
    EXPECT_EQ(h.sent().front(), renew_of("a", 1)) << "another server: is it still ours?";
    expect_released();
    EXPECT_FALSE(next.done());
}

TEST_F(engine_passing, not_by_a_lease_that_nobody_asked_for_again) {
    hold();
    operation& longer = h.extend(holder, 100s);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 100'000)});
    h.cancel(longer);
    h.reply(array(integer(1)));
    h.lock("a", {.max_hold = 40s});
    expect_released();
}

TEST_F(engine_passing, a_longer_lease_is_no_younger_confirmation) {
    hold();
    operation& longer = h.extend(holder, 100s);
    h.sent();
    h.cancel(longer);
    h.reply(array(integer(1)));
    h.skip(11s);
    h.turn([&] {
        h.lock("a");
        h.release(holder);
    });
    EXPECT_EQ(h.sent().front(), release_of("a", 1));
}

TEST_F(engine_passing, it_stops_listening_when_nobody_waits_any_more) {
    hold();
    operation& next = h.lock("a");
    h.advance(10ms);
    h.sent();
    h.reply(subscribed("a"));
    h.reply(array(integer(1)));
    h.sent();
    h.unlock(holder);
    EXPECT_TRUE(next.granted());
    EXPECT_EQ(h.sent(), lines{unsubscribe_of("a")});
}

TEST_F(engine_passing, not_after_a_renewal_was_refused) {
    const lock_options brief{.lease = 300ms};
    hold(brief);
    h.advance(100ms);
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 300)});
    h.lock("a", brief);
    h.reply(array(error("WRONGTYPE Operation against a key holding the wrong kind of value")));
    expect_released();
}

TEST_F(engine_passing, not_while_the_server_is_out_of_reach) {
    hold();
    operation& next = h.lock("a");
    h.break_connection();
    h.unlock(holder);
    EXPECT_FALSE(next.done());
}

struct misfit {
    const char* name;
    lock_options has;
    lock_options wants;
};

void PrintTo(const misfit& m, std::ostream* os) { *os << m.name; }

class engine_misfits : public testing::TestWithParam<misfit> {};

const conch::owner me;

TEST_P(engine_misfits, do_not_get_what_others_had) {
    engine_harness h;
    const auto holder = h.grant("a", GetParam().has);
    operation& next = h.lock("a", GetParam().wants);
    h.sent();
    h.release(holder);
    EXPECT_FALSE(next.done());
    const lines sent = h.sent();
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent.front(), release_of("a", 1));
}

INSTANTIATE_TEST_SUITE_P(
    engine_passing, engine_misfits,
    testing::Values(misfit{"not_renewed", {.renew = false}, {}},
                    misfit{"wants_no_renewal", {}, {.renew = false}},
                    misfit{"other_lease", {.lease = 30s}, {.lease = 20s}},
                    misfit{"has_an_owner", {.owner = &me}, {}},
                    misfit{"is_for_an_owner", {}, {.owner = &me}},
                    misfit{"ends_within_the_lease", {}, {.max_hold = 30s}},
                    misfit{"had_a_bound_within_the_lease", {.max_hold = 20s}, {}}),
    [](const auto& i) { return std::string{i.param.name}; });

TEST(engine_passing_of_fenced, each_holder_has_a_token_of_its_own) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    const auto holder = h.grant("a");
    operation& next = h.lock("a");
    h.sent();
    h.release(holder);
    EXPECT_FALSE(next.done());
    EXPECT_EQ(h.sent().size(), 1u);
}

TEST(engine_passing_of_fenced, a_hold_with_a_copy_in_doubt_is_released_by_itself) {
    engine_harness h;
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    operation& first = h.lock("a");
    h.connect();
    h.break_connection();
    h.connect(2);
    h.sent();
    h.reply(error("NOPERM no"), granted("9"));
    ASSERT_TRUE(first.granted());
    h.lock("a");
    h.sent();
    h.release(first.view);
    EXPECT_EQ(h.sent().front(), release_of("a", 1)) << "it is to be repeated";
}

}  // namespace
