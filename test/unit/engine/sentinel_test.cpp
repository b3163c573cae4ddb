// SPDX-License-Identifier: BSL-1.0
// Locks whose master another takes the place of, as sentinels tell.
#include "unit/engine/harness.hpp"
#include "unit/topology/sentinel_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;
using conch::lock_options;

/// One sentinel that is never silent, and the master that it names.
struct engine_sentinel : testing::Test {
    static conch::config settings_of_engine() {
        conch::config c = quiet();
        c.sentinel = settings_with(1).sentinel;
        c.sentinel->scan_interval = 1h;
        return c;
    }

    /// The master `m1`, for the first lock.
    void meet() {
        h.turn([&] { h.engine.connected(asked); });
        tell(hello(1));
        tell(subscribed_to("+switch-master") + names("m1"));
        h.connect();
    }
    void tell(const std::string& bytes) {
        std::string questions;
        h.engine.stage(questions, asked);
        h.turn([&] {
            auto& input = h.engine.input(asked);
            std::copy(bytes.begin(), bytes.end(), input.prepare(bytes.size()).begin());
            input.commit(bytes.size());
            h.engine.received(asked);
        });
    }
    conch::impl::view_ptr hold(const lock_options& how = {}) {
        operation& op = h.lock("a", how);
        meet();
        h.sent();
        h.reply(granted());
        EXPECT_TRUE(op.granted());
        return op.view;
    }
    /// `m2` takes the place of `m1`, which is left.
    void switch_master() {
        tell(message("+switch-master", "m m1 6379 m2 6379"));
        tell(names("m2", 2));
        EXPECT_EQ(h.engine.target(main_link).host, "m2");
        h.connect(1, "2222");
    }
    /// `m2` was sent the release, and is until it confirms it.
    void expect_until_confirmed() {
        const std::string release = release_of("a", 1);
        EXPECT_EQ(h.sent(), lines{release});
        h.reply(error("LOADING Redis is loading the dataset in memory"));
        EXPECT_EQ(h.sent(), lines{}) << "after a pause";
        h.advance(100ms);
        EXPECT_EQ(h.sent(), lines{release});
        h.break_connection();
        h.connect(2, "2222");
        EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", release}));
        EXPECT_EQ(h.engine.unsettled(), 1u);
        h.reply(integer(1), integer(0));
        EXPECT_EQ(h.engine.unsettled(), 0u);
    }

    engine_harness h{settings_of_engine()};
};

TEST_F(engine_sentinel, a_hold_that_the_new_master_lacks_is_lost_by_that) {
    const auto view = hold();
    const operation& loss = h.wait_lost(view);
    switch_master();
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1)});
    h.reply(array(integer(0)));
    EXPECT_TRUE(loss.ended(errc::lost_in_failover));
    EXPECT_EQ(h.sent(), lines{}) << "there is nothing to release";
}

TEST_F(engine_sentinel, one_that_it_has_lives_there_as_long_as_its_holder_was_promised) {
    const auto view = hold({.lease = 60s, .renew = false});
    switch_master();
    EXPECT_EQ(h.sent(), lines{renew_of("a", 1, 60'000)});
    h.reply(array(integer(1)));
    h.advance(20s);
    EXPECT_EQ(h.sent(), lines{"renew a c:1 0"}) << "it has it: a look will do";
    h.reply(array(integer(0)));
    EXPECT_EQ(lost(view), errc::lock_lost);
}

TEST_F(engine_sentinel, a_release_that_is_on_its_way_goes_to_the_new_master_until_it_is_confirmed) {
    const operation& end = h.unlock(hold());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    switch_master();
    EXPECT_FALSE(end.done());
    expect_until_confirmed();
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_sentinel, so_does_one_that_was_lost_with_the_old_master) {
    const operation& end = h.unlock(hold());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    h.break_connection();
    tell(names("m2", 2));
    h.connect(1, "2222");
    expect_until_confirmed();
    EXPECT_TRUE(end.ended({}));
}

TEST_F(engine_sentinel, so_does_that_of_what_was_cancelled) {
    operation& op = h.lock("a");
    meet();
    h.cancel(op);
    h.sent();
    h.reply(granted());
    EXPECT_EQ(h.sent(), lines{release_of("a", 1)});
    switch_master();
    expect_until_confirmed();
}

TEST_F(engine_sentinel, what_was_cancelled_and_not_answered_is_released_and_never_sent_again) {
    operation& op = h.lock("a");
    meet();
    EXPECT_EQ(h.sent(), lines{acquire_of("a", 1)});
    h.cancel(op);
    switch_master();
    std::size_t times = 0;
    for (const auto end = h.now() + 31s; h.now() < end; h.advance(10ms)) {
        for (const std::string& line : h.sent()) {
            EXPECT_EQ(line, release_of("a", 1));
            h.reply(integer(-1));
            ++times;
        }
    }
    EXPECT_GE(times, 30u) << "the old master may yet run it, and tell the new one";
    EXPECT_LE(times, 50u);
    EXPECT_EQ(h.engine.unsettled(), 0u) << "the lease is over";
}

}  // namespace
