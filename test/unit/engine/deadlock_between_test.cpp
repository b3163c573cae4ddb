// SPDX-License-Identifier: BSL-1.0
// Waits of several clients that would never end.
#include "unit/engine/deadlock_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace conch::test;
using conch::errc;
using conch::impl::view_ptr;
using lines = std::vector<std::string>;

/// "In time" is two poll intervals, of a second each.
class engine_deadlock_between : public deadlock_pair {};

TEST_F(engine_deadlock_between, is_told_in_time_to_the_one_that_began_to_wait_last) {
    operation& younger = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return younger.done(); }, 2s));
    EXPECT_TRUE(younger.ended(errc::deadlock));
    EXPECT_EQ(said,
              lines{"deadlock: \"a\" is held by conch:web-1:7:c1, which waits for \"b\", held "
                    "by conch:web-2:8:c2, which waits for \"a\""});
    pass(5s);
    EXPECT_FALSE(older->done()) << "one victim is enough";
    unlock(two, b);
    EXPECT_TRUE(older->granted());
    EXPECT_EQ(records.size(), 0u) << "nobody waits any more";
    EXPECT_EQ(said.size(), 1u);
}

TEST_F(engine_deadlock_between, of_three_clients_is_told_to_one) {
    client& three = join("c3");
    hold(three, "d", third);
    operation& middle = lock(two, "d", second);
    pass(100ms);
    operation& youngest = lock(three, "a", third);
    EXPECT_TRUE(comes([&] { return youngest.done(); }, 2s));
    EXPECT_TRUE(youngest.ended(errc::deadlock));
    pass(5s);
    EXPECT_FALSE(middle.done());
    EXPECT_FALSE(older->done());
    EXPECT_EQ(said.size(), 1u);
}

TEST_F(engine_deadlock_between, of_waits_that_began_at_once_is_told_to_one) {
    one.h.cancel(*older);
    serve();
    operation& here = lock(one, "b", first);
    operation& there = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return here.done() || there.done(); }, 2s));
    pass(5s);
    EXPECT_EQ(here.completions + there.completions, 1);
    EXPECT_TRUE(there.ended(errc::deadlock)) << "by the larger name";
}

TEST_F(engine_deadlock_between, is_told_though_one_owner_has_several_waits_and_holds) {
    hold(one, "x", first);
    hold(two, "y", second);
    lock(one, "y", first);
    operation& younger = lock(two, "x", second);
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, is_told_of_a_writer_and_one_of_the_readers_that_it_waits_for) {
    client& three = join("c3");
    for (client* c : {&one, &two, &three}) {
        read(*c, "r");
    }
    hold(three, "r", third);
    hold(one, "r", first);
    write(two, "r");
    operation& writer = lock(two, "r", second);
    EXPECT_TRUE(comes([&] { return writer.done(); }, 2s));
    EXPECT_TRUE(writer.ended(errc::deadlock));
}

TEST_F(engine_deadlock_between, is_told_of_readers_that_wait_for_a_writer) {
    write(one, "r");
    read(two, "r");
    hold(one, "r", first);
    operation& reader = lock(two, "r", second);
    EXPECT_TRUE(comes([&] { return reader.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, needs_readers_that_wait_for_another_than_readers) {
    read(one, "r");
    read(two, "r");
    hold(one, "r", first);
    writer_in_front = true;
    EXPECT_FALSE(lock(two, "r", second).done());
    pass(5s);
    EXPECT_EQ(said, lines{}) << "the writer may give up";
}

TEST_F(engine_deadlock_between, is_not_told_of_one_that_gave_up_in_time) {
    one.h.cancel(*older);
    serve();
    operation& brief = lock(one, "b", first, 500ms);
    operation& other = lock(two, "a", second);
    pass(10s);
    EXPECT_TRUE(brief.ended(errc::timed_out));
    EXPECT_FALSE(other.done());
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock_between, is_not_told_of_a_record_that_is_refreshed_no_more_than_once) {
    const view_ptr c = hold(one, "c", third);
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    records["conch_wait:{b}:x:1"] = record(1, 1, 7, "c");
    pass(3s);
    EXPECT_FALSE(waits.done()) << "it is stale";
    records["conch_wait:{b}:x:1"] = record(1, 2, 7, "c");
    pass(3s);
    EXPECT_FALSE(waits.done()) << "it may have been on its way since";
    records["conch_wait:{b}:x:1"] = record(1, 3, 7, "c");
    pass(300ms);
    EXPECT_TRUE(waits.ended(errc::deadlock));
    EXPECT_EQ(said,
              lines{"deadlock: \"b\" is held by conch:db-1:9:x, which waits for \"c\", held by "
                    "conch:web-1:7:c1, which waits for \"b\""});
}

TEST_F(engine_deadlock_between, is_not_told_of_waits_that_follow_each_other) {
    hold(one, "c", third);
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    int wait = 0;
    before_look = [&] {
        ++wait;
        records["conch_wait:{b}:x:1"] = record(1, 10 * wait, wait / 4, "c");
    };
    pass(10s);
    EXPECT_GT(wait, 40);
    EXPECT_FALSE(waits.done());
}

TEST_F(engine_deadlock_between, is_not_told_of_records_of_several_epochs) {
    hold(one, "c", third);
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    int epoch = 0;
    before_look = [&] {
        ++epoch;
        records["conch_wait:{b}:x:1"] = record(epoch / 4, 10 * epoch, 7, "c");
    };
    pass(10s);
    EXPECT_GT(epoch, 40);
    EXPECT_FALSE(waits.done());
}

TEST_F(engine_deadlock_between, is_not_told_of_holders_that_follow_each_other) {
    hold(one, "c", third);
    operation& waits = lock(one, "b", third);
    int number = 0;
    before_look = [&] {
        const std::string field = "x:" + std::to_string(++number / 4 + 1);
        holders["b"] = {field};
        records["conch_wait:{b}:" + field] = record(1, 10 * number, 7, "c");
    };
    pass(10s);
    EXPECT_GT(number, 40);
    EXPECT_FALSE(waits.done());
}

TEST_F(engine_deadlock_between, is_not_told_of_holds_of_its_own_that_follow_each_other) {
    hold(one, "c", third);
    hold(one, "d", third);
    holders["b"] = {"x:1"};
    operation& waits = lock(one, "b", third);
    int looks = 0;
    before_look = [&] {
        ++looks;
        records["conch_wait:{b}:x:1"] = record(1, 10 * looks, 7, looks % 8 < 4 ? "c" : "d");
    };
    pass(10s);
    EXPECT_GT(looks, 40);
    EXPECT_FALSE(waits.done());
}

TEST_F(engine_deadlock_between, is_told_by_a_server_that_lacks_the_scripts) {
    lacks_scripts = true;
    operation& younger = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, is_told_of_a_writer_that_was_downgraded_and_wants_to_write) {
    write(one, "r");
    const view_ptr r = hold(one, "r", third);
    operation& down = one.h.downgrade(r);
    operation& again = one.h.lock("r", {.owner = &third});
    EXPECT_FALSE(again.done()) << "if it is not done, this nests";
    serve();
    EXPECT_TRUE(down.ended({}));
    EXPECT_TRUE(comes([&] { return again.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, is_looked_for_by_who_holds_and_waits_alone) {
    client& three = join("c3");
    operation& without = lock(three, "a", third);
    pass(5s);
    EXPECT_FALSE(without.done());
    EXPECT_EQ(three.sent, lines{}) << "it holds nothing";
    EXPECT_EQ(two.sent, lines{}) << "it waits for nothing";
    EXPECT_FALSE(one.sent.empty());
    EXPECT_EQ(records.size(), 1u);
}

TEST_F(engine_deadlock_between, is_not_looked_for_in_short_waits) {
    lock(two, "a", third);
    pass(200ms);
    operation& brief = lock(two, "a", second, 200ms);
    pass(1s);
    EXPECT_TRUE(brief.ended(errc::timed_out));
    EXPECT_EQ(two.sent, lines{}) << "the long one is of an owner that holds nothing";
}

TEST_F(engine_deadlock_between, is_not_looked_for_where_a_try_takes_long) {
    operation& tries = two.h.try_lock("x", {.owner = &second});
    two.h.advance(1s);
    EXPECT_FALSE(tries.done());
    for (const std::string& line : two.h.sent()) {
        EXPECT_FALSE(line.starts_with("SET")) << line;
    }
    two.h.cancel(tries);
}

TEST_F(engine_deadlock_between, is_looked_for_among_so_many_holds_at_most) {
    for (int i = 0; i < 150; ++i) {
        hold(one, "many:" + std::to_string(i), first);
    }
    pass(1s);
    EXPECT_EQ(records.size(), 100u);
    one.h.cancel(*older);
    serve();
    EXPECT_EQ(records.size(), 0u);
}

TEST_F(engine_deadlock_between, of_others_is_theirs) {
    holders["b"] = {"x:1"};
    holders["p"] = {"y:1"};
    records["conch_wait:{b}:x:1"] = record(1, 1, 7, "p");
    records["conch_wait:{p}:y:1"] = record(1, 1, 8, "b");
    one.sent.clear();
    pass(1s);
    EXPECT_GT(one.sent.size(), 8u);
    EXPECT_LE(one.sent.size(), 5 * 6u) << "each of them is asked about once in a look";
    EXPECT_FALSE(older->done());
}

TEST_F(engine_deadlock_between, is_looked_for_without_end_nor_haste_where_records_are_refused) {
    refusal = "NOPERM this user has no permissions to access one of the keys";
    operation& younger = lock(two, "a", second);
    pass(5s);
    EXPECT_LE(std::count_if(two.sent.begin(), two.sent.end(),
                            [](const std::string& line) { return line.starts_with("SET"); }),
              20);
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said.front(),
              "deadlocks with others are not found: a: NOPERM this user has no "
              "permissions to access one of the keys");
    refusal.clear();
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, is_told_by_records_of_another_epoch_once_another_server_took_over) {
    const std::string before = epoch();
    pass(250ms);
    one.h.break_connection();
    one.h.connect(2);
    pass(250ms);
    EXPECT_EQ(epoch(), before) << "it is the same server";
    one.h.break_connection();
    one.h.connect(3, "2222");
    pass(250ms);
    EXPECT_NE(epoch(), before) << "it may lack what was told last";
}

TEST_F(engine_deadlock_between, is_told_after_a_lost_connection_by_records_of_another_epoch) {
    const std::string before = epoch();
    pass(500ms);
    EXPECT_EQ(epoch(), before);
    one.h.advance(250ms);
    EXPECT_FALSE(one.h.sent_commands().empty()) << "it is told, and not answered";
    one.h.break_connection();
    one.h.connect(2);
    pass(300ms);
    EXPECT_NE(epoch(), before) << "what was lost may yet be written";
    operation& younger = lock(two, "a", second);
    EXPECT_TRUE(comes([&] { return younger.ended(errc::deadlock); }, 2s));
}

TEST_F(engine_deadlock_between, is_not_looked_for_any_more_once_the_wait_ended) {
    one.h.break_connection();
    one.h.advance(300ms);
    EXPECT_EQ(one.h.engine.belongings().watched_waits, 2u) << "the wait, and what is told of it";
    one.h.cancel(*older);
    EXPECT_EQ(one.h.engine.belongings().watched_waits, 1u) << "that is taken back";
}

TEST_F(engine_deadlock_between, leaves_nothing_behind_if_the_client_ends_in_the_middle) {
    one.h.advance(250ms);
    EXPECT_FALSE(one.h.sent_commands().empty()) << "and nobody answers";
    one.h.close();
    EXPECT_EQ(one.h.engine.belongings().watched_waits, 0u);
}

TEST_F(engine_deadlock_between, is_over_with_the_client) {
    lock(two, "a", second);
    pass(300ms);
    EXPECT_EQ(records.size(), 2u);
    one.h.shutdown();
    serve();
    EXPECT_EQ(records.count("conch_wait:{a}:c1:1"), 0u);
    one.sent.clear();
    pass(1s);
    EXPECT_EQ(one.sent, lines{});
    EXPECT_EQ(records.size(), 0u) << "the other got the lock";
}

TEST_F(engine_deadlock_between, takes_back_what_it_told_of_a_hold_that_ended) {
    ASSERT_EQ(records.count("conch_wait:{a}:c1:1"), 1u);
    EXPECT_TRUE(records["conch_wait:{a}:c1:1"].find(" mutex ") != std::string::npos);
    unlock(one, a);
    EXPECT_EQ(records.size(), 0u);
    one.sent.clear();
    pass(2s);
    EXPECT_EQ(one.sent, lines{}) << "it waits, but holds nothing";
    EXPECT_FALSE(older->done());
}

}  // namespace
