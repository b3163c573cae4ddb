// SPDX-License-Identifier: BSL-1.0
#include "wait/contest.hpp"

#include "unit/hold/holds_fixture.hpp"

namespace conch::test {
namespace {

using namespace std::chrono_literals;
using lock::wake;

struct wait_contest : holds_fixture {
    ~wait_contest() override { contest.stop_listening(); }

    void advance(duration d) { go_on_to(env.now + d); }

    lock::slot slot{slots, exclusive("a")};
    lock::contest contest{slot, [](void*, wire::news) {}};
};

TEST_F(wait_contest, an_await_ends_with_what_it_is_for) {
    lock::contest::next_wake answer = contest.answer_to_tries();
    EXPECT_FALSE(answer.await_ready());
    contest.tell(wake::message);
    EXPECT_FALSE(answer.await_ready()) << "nobody awaits it";
    contest.tell(wake::busy);
    EXPECT_TRUE(answer.await_ready());
    contest.tell(wake::tried);
    EXPECT_EQ(answer.await_resume(), wake::busy) << "the first one counts";
}

TEST_F(wait_contest, a_reason_to_try_is_not_lost_before_it_is_awaited) {
    contest.heard(wake::message);
    EXPECT_EQ(contest.release_by_others().await_resume(), wake::message);

    contest.try_began();
    contest.try_was_busy({.ttl_ms = 5000}, false);
    EXPECT_FALSE(contest.release_by_others().await_ready()) << "the try has seen it";
}

TEST_F(wait_contest, who_has_no_messages_polls) {
    contest.try_began();
    contest.try_was_busy({.ttl_ms = 60'000}, false);
    lock::contest::next_wake release = contest.release_by_others();
    advance(49ms);
    EXPECT_FALSE(release.await_ready());
    advance(51ms);
    ASSERT_TRUE(release.await_ready());
    EXPECT_EQ(release.await_resume(), wake::deadline);
}

TEST_F(wait_contest, the_end_of_the_lease_is_not_slept_through) {
    contest.try_began();
    contest.try_was_busy({.ttl_ms = 7}, false);
    lock::contest::next_wake release = contest.release_by_others();
    advance(7ms);
    EXPECT_FALSE(release.await_ready()) << "a key whose PTTL is 0 is still locked";
    advance(1ms);
    EXPECT_TRUE(release.await_ready());
}

TEST_F(wait_contest, what_a_busy_answer_said_of_readers_is_for_the_next_try) {
    EXPECT_EQ(contest.beside(), nullptr);
    contest.try_was_busy({.beside = {"x"}}, false);
    ASSERT_NE(contest.beside(), nullptr);
    EXPECT_EQ(contest.beside()->front(), "x");
    contest.try_was_busy({}, false);
    EXPECT_EQ(contest.beside(), nullptr);
}

TEST_F(wait_contest, a_grace_lasts_a_moment_or_is_ended) {
    contest.begin_grace();
    EXPECT_TRUE(contest.turns.in_grace(env.now + 1ms - 1ns));
    EXPECT_FALSE(contest.turns.in_grace(env.now + 1ms));
    contest.turns.end_grace();
    EXPECT_FALSE(contest.turns.in_grace(env.now));
}

TEST_F(wait_contest, who_begins_later_does_so_after_ten_milliseconds) {
    const conch::time_point at = env.now + 10ms;
    contest.contend_later();
    EXPECT_EQ(env.timers.next(), at);
    advance(1ms);
    contest.begin_grace();
    contest.contend_later();
    EXPECT_EQ(env.timers.next(), at) << "neither is put off, nor ends with a grace";
}

TEST_F(wait_contest, a_slot_that_nobody_uses_is_kept_until_its_grace_is_over) {
    const impl::spec_ptr spec = exclusive("b");
    slots.acquire(spec, {}, {});
    lock::lock_name* const b = slots.names.find(*spec);
    ASSERT_NE(b, nullptr);
    slots.give_up_all(errc::client_closed);
    lock::slot::on_holds.release_reached(*b, 1);
    slots.retire_idle();
    EXPECT_EQ(slots.size(), 1u);
    advance(1ms - 1ns);
    slots.retire_idle();
    EXPECT_EQ(slots.size(), 1u);
    advance(1ns);
    slots.retire_idle();
    EXPECT_EQ(slots.size(), 0u) << "a timer has called for that";
}

TEST_F(wait_contest, others_who_are_owed_a_turn_get_some_time) {
    lock::contest::next_wake turn = contest.turn_of_others(false);
    EXPECT_FALSE(turn.await_ready());
    contest.tell(wake::busy);
    EXPECT_FALSE(turn.await_ready());
    advance(1ms);
    ASSERT_TRUE(turn.await_ready());
    EXPECT_EQ(turn.await_resume(), wake::deadline);
    EXPECT_EQ(contest.turn_of_others(true).await_resume(), wake::head) << "there is none to give";
}

}  // namespace
}  // namespace conch::test
