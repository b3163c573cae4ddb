// SPDX-License-Identifier: BSL-1.0
// How a client looks for waits that would never end: what it asks, and how often.
#include "unit/engine/deadlock_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using namespace conch::test;
using conch::errc;
using conch::lock_options;

class engine_deadlock_hunts : public deadlock_pair {
protected:
    static auto count(const client& c, std::string_view what) {
        return std::count_if(c.sent.begin(), c.sent.end(),
                             [&](const std::string& line) { return line.starts_with(what); });
    }
};

TEST_F(engine_deadlock_hunts, do_not_read_more_than_a_record_may_be) {
    records["conch_wait:{b}:c2:1"] = std::string(20'000'000, '1');
    one.sent.clear();
    pass(250ms);
    EXPECT_EQ(count(one, "GETRANGE conch_wait:{b}:c2:1 0 16384"), 1);
    EXPECT_FALSE(older->done());
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock_hunts, ask_about_no_more_than_64_holders_once_each) {
    for (int i = 0; i < 300; ++i) {
        holders["r"].push_back("x:" + std::to_string(i / 2) + ":read");
    }
    one.h.cancel(*older);
    serve();
    write(one, "r");
    lock(one, "r", first);
    pass(200ms);
    one.sent.clear();
    pass(250ms);
    EXPECT_EQ(count(one, "shared_status"), 1);
    EXPECT_EQ(count(one, "GETRANGE"), 64);
}

TEST_F(engine_deadlock_hunts, repeat_a_look_once_before_they_pause) {
    hold(one, "c", third);
    one.h.cancel(*older);
    serve();
    holders["b"] = {"x:1"};
    lock(one, "b", third);
    int looks = 0;
    before_look = [&] {
        if (++looks < 1000) {
            records["conch_wait:{b}:x:1"] = record(looks, looks, 7, "c");
        }
    };
    pass(1s);
    EXPECT_GE(looks, 8);
    EXPECT_LE(looks, 16) << "each look asks for the holders of two locks";
}

TEST_F(engine_deadlock_hunts, that_find_nothing_pause_for_a_poll_interval) {
    pass(5s);
    one.sent.clear();
    pass(10s);
    EXPECT_GE(count(one, "status"), 9);
    EXPECT_LE(count(one, "status"), 11);
    EXPECT_GE(count(one, "SET"), 39) << "others shall see it as soon as ever";
    operation& younger = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_hunts, pause_for_longer_if_they_are_many) {
    for (int i = 0; i < 1500; ++i) {
        lock(one, "b", first);
    }
    pass(300ms);
    one.sent.clear();
    pass(3s);
    EXPECT_GE(one.sent.size(), 3000u);
    EXPECT_LE(one.sent.size(), 3 * 2100u);
}

TEST_F(engine_deadlock_hunts, tell_that_their_questions_are_refused) {
    read_refusal = "NOPERM this user has no permissions to run the 'getrange' command";
    pass(300ms);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said.front(), "deadlocks with others are not found: b: " + read_refusal);
}

TEST_F(engine_deadlock_hunts, tell_and_look_for_nothing_where_each_hold_ends_by_itself) {
    one.h.cancel(*older);
    serve();
    one.sent.clear();
    for (const lock_options& ends : {lock_options{.renew = false, .owner = &third},
                                     lock_options{.max_hold = 1h, .owner = &third},
                                     lock_options{.progress_within = 1min, .owner = &third}}) {
        const auto c = hold(one, "c", ends);
        operation& waits = lock(one, "b", third);
        pass(1s);
        EXPECT_EQ(one.sent, lines{});
        one.h.cancel(waits);
        unlock(one, c);
    }
    hold(one, "d", third);
    hold(one, "c", {.max_hold = 1h, .owner = &third});
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    int refreshed = 0;
    before_look = [&] { records["conch_wait:{b}:x:1"] = record(1, ++refreshed, 7, "c"); };
    pass(5s);
    EXPECT_GT(refreshed, 4);
    EXPECT_FALSE(waits.done());
    EXPECT_EQ(records.size(), 2u) << "of \"b\" and \"d\"";
}

}  // namespace
