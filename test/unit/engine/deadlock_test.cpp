// SPDX-License-Identifier: BSL-1.0
// Waits of one client that would never end: each is told at once.
#include "unit/engine/deadlock_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace conch::test;
using conch::config;
using conch::errc;
using conch::lock_options;
using conch::impl::view_ptr;
using lines = std::vector<std::string>;

class engine_deadlock : public deadlock_world {
protected:
    client& c = join("c", looking("conch:web-1:7:c"));
    conch::owner first{}, second{}, third{};
};

TEST_F(engine_deadlock, of_two_owners_is_told_to_the_one_that_closes_the_cycle) {
    const view_ptr a = hold(c, "a", first);
    const view_ptr b = hold(c, "b", second);
    operation& waits = lock(c, "b", first);
    operation& closes = lock(c, "a", second);
    EXPECT_TRUE(closes.ended(errc::deadlock));
    EXPECT_FALSE(waits.done());
    EXPECT_EQ(said, lines{"deadlock: \"a\" is held by conch:web-1:7:c, which waits for \"b\", held "
                          "by conch:web-1:7:c, which waits for \"a\""});
    EXPECT_EQ(c.h.counters().deadlocks, 1u);
    unlock(c, b);
    EXPECT_TRUE(waits.granted());
    unlock(c, waits.view);
    unlock(c, a);
}

TEST_F(engine_deadlock, of_three_owners_is_told_to_the_last) {
    hold(c, "a", first);
    hold(c, "b", second);
    hold(c, "c", third);
    EXPECT_FALSE(lock(c, "b", first).done());
    EXPECT_FALSE(lock(c, "c", second).done());
    EXPECT_TRUE(lock(c, "a", third).ended(errc::deadlock));
    EXPECT_FALSE(lock(c, "d", third).ended(errc::deadlock)) << "which nobody holds";
}

TEST_F(engine_deadlock, of_one_owner_that_reads_and_wants_to_write_is_told) {
    read(c, "a");
    hold(c, "a", first);
    write(c, "a");
    EXPECT_TRUE(lock(c, "a", first).ended(errc::deadlock)) << "it waits for itself";
    EXPECT_FALSE(lock(c, "a", second).done()) << "another does not";
}

TEST_F(engine_deadlock, needs_owners_that_wait) {
    hold(c, "a", first);
    hold(c, "b", second);
    operation& without = c.h.lock("b");
    serve();
    operation& waits = lock(c, "b", first, 1s);
    operation& tries = c.h.try_lock("a", {.owner = &second});
    EXPECT_TRUE(tries.ended({})) << "it is busy, and not waited for";
    pass(1100ms);
    EXPECT_TRUE(waits.ended(errc::timed_out));
    EXPECT_FALSE(lock(c, "a", second).done()) << "the other waits no more";
    EXPECT_FALSE(without.done());
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock, ends_a_try_that_waits_with_an_error) {
    hold(c, "a", first);
    hold(c, "b", second);
    lock(c, "b", first);
    operation& tries = c.h.try_lock("a", {.wait = 5s, .owner = &second});
    EXPECT_TRUE(tries.ended(errc::deadlock));
}

TEST_F(engine_deadlock, needs_holds_that_are_still_there) {
    const view_ptr a = hold(c, "a", first);
    hold(c, "b", second);
    lock(c, "b", first);
    c.h.unlock(a);
    operation& follows = c.h.lock("a", {.owner = &second});
    EXPECT_FALSE(follows.done()) << "its release is on its way";
    serve();
    EXPECT_TRUE(follows.granted());
}

TEST_F(engine_deadlock, needs_holds_that_do_not_end_by_themselves) {
    for (const lock_options& ends : {lock_options{.renew = false, .owner = &first},
                                     lock_options{.max_hold = 1h, .owner = &first},
                                     lock_options{.progress_within = 1min, .owner = &first}}) {
        const view_ptr a = hold(c, "a", ends);
        const view_ptr b = hold(c, "b", second);
        operation& waits = lock(c, "b", first);
        operation& other = lock(c, "a", second);
        EXPECT_FALSE(other.done());
        c.h.cancel(other);
        unlock(c, b);
        unlock(c, waits.view);
        unlock(c, a);
    }
}

TEST_F(engine_deadlock, is_not_looked_for_where_the_lock_is_free) {
    hold(c, "a", first);
    operation& free = c.h.lock("b", {.owner = &first});
    EXPECT_EQ(c.h.engine.belongings().watched_waits, 0u);
    serve();
    EXPECT_TRUE(free.granted());
    holders["d"] = {"x:1"};
    operation& busy = lock(c, "d", first);
    EXPECT_FALSE(busy.done());
    EXPECT_EQ(c.h.engine.belongings().watched_waits, 1u);
    lock(c, "a", second);
    EXPECT_EQ(c.h.engine.belongings().watched_waits, 2u) << "it stands behind a hold";
}

TEST_F(engine_deadlock, has_no_readers_that_wait_for_readers) {
    read(c, "a");
    hold(c, "a", first);
    hold(c, "b", second);
    lock(c, "b", first);
    write(c, "a");
    operation& writer = lock(c, "a", third);
    EXPECT_FALSE(writer.done());
    read(c, "a");
    EXPECT_FALSE(lock(c, "a", second).done()) << "it waits behind the writer, who may give up";
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock, of_a_writer_and_one_of_its_readers_is_told) {
    read(c, "a");
    const view_ptr other = hold(c, "a", third);
    hold(c, "a", first);
    hold(c, "b", second);
    EXPECT_FALSE(lock(c, "b", first).done());
    write(c, "a");
    EXPECT_TRUE(lock(c, "a", second).ended(errc::deadlock));
    unlock(c, other);
}

TEST_F(engine_deadlock, has_no_part_in_waits_for_any_one_of_several_permits) {
    c.h.use(conch::protocol::permits_protocol, "s");
    hold(c, "a", first);
    operation& waits = c.h.lock("s", {.owner = &first});
    EXPECT_EQ(c.h.sent().size(), 1u);
    c.h.reply(busy(20'000));
    EXPECT_FALSE(waits.done());
    EXPECT_EQ(c.h.engine.belongings().watched_waits, 0u);
}

TEST(engine_deadlock_off, is_told_to_nobody_and_sends_nothing) {
    engine_harness h{};
    const conch::owner first{}, second{};
    h.grant("a", {.owner = &first});
    h.grant("b", {.owner = &second});
    operation& one = h.lock("b", {.owner = &first});
    operation& other = h.lock("a", {.owner = &second});
    h.advance(9s);
    EXPECT_FALSE(one.done());
    EXPECT_FALSE(other.done());
    for (const std::string& line : h.sent()) {
        EXPECT_TRUE(line.starts_with("SUBSCRIBE") || line.starts_with("renew")) << line;
    }
}

}  // namespace
