// SPDX-License-Identifier: BSL-1.0
// How a client looks for waits that would never end: what it asks, and how often.
#include "unit/engine/cluster_engine.hpp"
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

TEST_F(engine_deadlock_hunts, count_how_often_a_record_is_refreshed_from_the_second_look_on) {
    hold(one, "c", third);
    one.h.cancel(*older);
    serve();
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    int asked = 0;
    before_look = [&] {  // each look asks for the holders of two locks
        records["conch_wait:{b}:x:1"] = record(1, ++asked <= 2 ? 1 : 3, 7, "c");
    };
    pass(3s);
    EXPECT_GT(asked, 4);
    EXPECT_FALSE(waits.done()) << "what the first look read may be older than its end";
}

TEST_F(engine_deadlock_hunts, that_find_nothing_leave_out_every_other_look) {
    pass(5s);
    one.sent.clear();
    pass(10s);
    EXPECT_GE(count(one, "status"), 19);
    EXPECT_LE(count(one, "status"), 21);
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
    pass(30s);
    EXPECT_GE(one.sent.size(), 20'000u);
    EXPECT_LE(one.sent.size(), 33'000u);
}

TEST_F(engine_deadlock_hunts, do_not_pause_for_those_who_hold_nothing) {
    for (int i = 0; i < 1500; ++i) {
        lock(one, "b", third);
        lock(two, "a", third);
    }
    pass(1s);
    operation& younger = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

// Both wait for each other; the victim is the one whose call came last by the clock of its host.
TEST_F(engine_deadlock_hunts, compare_the_clocks_of_hosts) {
    one.h.cancel(*older);
    serve();
    one.h.engine.set_wall_clock(10s);
    operation& early = lock(one, "b", first);
    pass(3s);
    operation& late = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return early.done() || late.done(); }, 2s));
    EXPECT_TRUE(early.ended(errc::deadlock)) << "its host's clock is ahead";
    pass(5s);
    EXPECT_FALSE(late.ended(errc::deadlock));
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

/// "b" is held by one who waits for a lock at `m2`, and for "a", which the hunter holds.
class engine_deadlock_hunts_in_cluster : public cluster_engine {
protected:
    engine_deadlock_hunts_in_cluster()
        : cluster_engine{{}, conch::sharded_messages::off, {}, true} {
        hold("a", {.owner = &by});
    }
    std::string answer(const std::string& line) {
        const auto held_by = [](std::string_view field) {
            return array(integer(20'000), bulk(""), bulk(field), bulk("1"), bulk("write"));
        };
        if (line.starts_with("GETRANGE ")) {
            const std::string far = name_at_m2();
            return bulk(conch::test::join("1 1 ", ++refresh, " x mutex 7 5 ", far.size(), " ", far,
                                          " mutex 8 5 1 a"));
        }
        return line.starts_with("acquire ")    ? busy(20'000)
               : line.starts_with("status a")  ? held_by("c:1")
               : line.starts_with("status ")   ? held_by("x:1")
               : line.starts_with("SET ")      ? ok()
               : line.starts_with("SUBSCRIBE") ? push("subscribe", line.substr(10), integer(1))
                                               : integer(1);
    }
    void serve() {
        for (auto all = sent("m1"); !all.empty(); all = sent("m1")) {
            std::string text;
            for (const std::string& line : all) {
                text += answer(line);
            }
            reply("m1", text);
        }
    }

    const conch::owner by{};
    int refresh = 0;
};

TEST_F(engine_deadlock_hunts_in_cluster, go_on_where_a_server_is_not_there) {
    const operation& waits = lock("b", {.owner = &by});
    serve();
    for (int n = 0; n < 300 && !waits.done(); ++n) {
        advance(10ms);
        serve();
    }
    EXPECT_TRUE(waits.ended(errc::deadlock));
}

}  // namespace
