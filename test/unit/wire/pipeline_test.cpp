// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/text.hpp"
#include "wire/pipeline.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::time_point;
using conch::wire::call;
using conch::wire::call_type;
using conch::wire::outcome;
using conch::wire::pipeline;
using conch::wire::priority;
using conch::wire::retry;

struct probe : call {
    probe(const call_type& t, std::string n, lines& e) : call{t}, name{std::move(n)}, ends{e} {}
    std::string name;
    lines& ends;
};

void encode(call& c, conch::resp::writer& w) { w.command(1).arg(static_cast<probe&>(c).name); }

void done(call& c, const outcome& o) {
    auto& p = static_cast<probe&>(c);
    p.ends.push_back(join(p.name, o.lost() ? " lost" : " answered"));
}

constexpr call_type type_of(priority order, retry after_loss, bool script = false) {
    return {.name = "probe",
            .after_loss = after_loss,
            .order = order,
            .kind = script ? conch::wire::call_kind::script : conch::wire::call_kind::command,
            .encode = &encode,
            .done = &done};
}

constexpr call_type greeting = type_of(priority::greeting, retry::never);
constexpr call_type urgent = type_of(priority::urgent, retry::replay);
constexpr call_type normal = type_of(priority::normal, retry::replay);
constexpr call_type once = type_of(priority::normal, retry::never);
constexpr call_type script = type_of(priority::normal, retry::replay, true);

struct wire_pipeline : testing::Test {
    lines ends{};
    pipeline p{};
    probe a{normal, "a", ends};
    probe b{normal, "b", ends};
    probe c{normal, "c", ends};
    probe u{urgent, "u", ends};
    probe g{greeting, "g", ends};
    probe o{once, "o", ends};
    probe s{script, "s", ends};

    lines stage(bool ready = true, std::size_t limit = 1 << 20, time_point now = time_point{1s}) {
        std::string out;
        p.stage(out, ready, now, limit);
        return texts(read_commands(out));
    }
};

TEST_F(wire_pipeline, calls_leave_by_priority_and_then_in_their_order) {
    for (probe* x : {&a, &u, &b, &g}) {
        p.submit(*x);
    }
    EXPECT_EQ(stage(), (lines{"g", "u", "a", "b"}));
    EXPECT_FALSE(p.has_output(true));
    EXPECT_TRUE(p.awaits_answer());
}

TEST_F(wire_pipeline, only_the_greeting_leaves_before_the_connection_is_ready) {
    p.submit(a);
    p.submit(u);
    EXPECT_FALSE(p.has_output(false));
    EXPECT_TRUE(p.has_output(true));
    p.submit(g);
    EXPECT_TRUE(p.has_output(false));
    EXPECT_EQ(stage(false), lines{"g"});
    EXPECT_EQ(stage(true), (lines{"u", "a"}));
}

TEST_F(wire_pipeline, answers_belong_to_calls_in_the_order_of_their_writing) {
    p.submit(a);
    p.submit(u);
    stage();
    EXPECT_EQ(p.next_answered(), &u);
    EXPECT_EQ(p.take_answered(), &u);
    EXPECT_EQ(p.take_answered(), &a);
    EXPECT_EQ(p.next_answered(), nullptr);
}

TEST_F(wire_pipeline, one_may_be_put_before_the_others) {
    p.submit(a);
    p.submit_first(b);
    EXPECT_EQ(stage(), (lines{"b", "a"}));
}

TEST_F(wire_pipeline, a_withdrawn_call_is_not_written) {
    p.submit(a);
    p.submit(b);
    p.withdraw(a);
    EXPECT_EQ(a.where, call::state::idle);
    EXPECT_EQ(stage(), lines{"b"});
    EXPECT_EQ(ends, lines{});
}

TEST_F(wire_pipeline, a_stage_stops_at_its_limit_and_goes_on_later) {
    for (probe* x : {&a, &b, &c}) {
        p.submit(*x);
    }
    EXPECT_EQ(stage(true, 1), lines{"a"});
    EXPECT_TRUE(p.has_output(true));
    EXPECT_EQ(stage(true, 12), (lines{"b", "c"}));
}

TEST_F(wire_pipeline, it_counts_scripts) {
    p.submit(a);
    p.submit(s);
    std::string out;
    EXPECT_EQ(p.stage(out, true, time_point{1s}, 1 << 20), 1u);
}

TEST_F(wire_pipeline, a_call_knows_when_its_first_and_its_last_copy_left) {
    p.submit(a);
    stage(true, 1 << 20, time_point{1s});
    p.connection_lost(time_point{2s});
    stage(true, 1 << 20, time_point{3s});
    EXPECT_EQ(a.history.copies, 2u);
    EXPECT_EQ(a.history.first_sent, time_point{1s});
    EXPECT_EQ(a.history.last_sent, time_point{3s});
    EXPECT_TRUE(a.history.in_doubt());
    EXPECT_EQ(a.history.lost_at, time_point{2s});
}

TEST_F(wire_pipeline, a_new_submission_forgets_the_one_before) {
    p.submit(a);
    stage();
    p.connection_lost(time_point{2s});
    stage();
    p.take_answered()->end({outcome::kind::answered, {}});
    p.submit(a);
    EXPECT_EQ(a.history.copies, 0u);
    EXPECT_FALSE(a.history.in_doubt());
    stage(true, 1 << 20, time_point{5s});
    EXPECT_EQ(a.history.first_sent, time_point{5s});
}

TEST_F(wire_pipeline, after_a_loss_calls_are_replayed_in_their_order_and_before_the_others) {
    for (probe* x : {&a, &b, &u}) {
        p.submit(*x);
    }
    stage();
    p.submit(c);
    p.connection_lost(time_point{2s});
    EXPECT_FALSE(p.awaits_answer());
    EXPECT_EQ(stage(), (lines{"u", "a", "b", "c"}));
    EXPECT_EQ(ends, lines{});
}

TEST_F(wire_pipeline, a_call_that_must_not_be_replayed_ends_as_lost) {
    p.submit(o);
    p.submit(a);
    stage();
    p.connection_lost(time_point{2s});
    EXPECT_EQ(ends, lines{"o lost"});
    EXPECT_EQ(stage(), lines{"a"});
}

TEST_F(wire_pipeline, a_call_that_nobody_wants_ends_as_lost_and_is_never_written_again) {
    p.submit(a);
    p.submit(b);
    stage();
    a.abandon();
    p.connection_lost(time_point{2s});
    EXPECT_EQ(ends, lines{"a lost"});
    EXPECT_EQ(stage(), lines{"b"});
}

TEST_F(wire_pipeline, lost_calls_end_in_the_order_of_their_writing) {
    for (probe* x : {&a, &b, &c}) {
        p.submit(*x);
    }
    stage();
    for (probe* x : {&a, &b, &c}) {
        x->abandon();
    }
    p.connection_lost(time_point{2s});
    EXPECT_EQ(ends, (lines{"a lost", "b lost", "c lost"}));
}

TEST_F(wire_pipeline, what_remains_of_a_greeting_ends_with_its_connection) {
    p.submit(g);
    p.connection_lost(time_point{2s});
    EXPECT_EQ(ends, lines{"g lost"});
    EXPECT_FALSE(p.has_output(false));
}

TEST_F(wire_pipeline, a_call_that_waits_stays_when_the_connection_is_lost) {
    p.submit(o);
    p.connection_lost(time_point{2s});
    EXPECT_EQ(ends, lines{});
    EXPECT_FALSE(o.history.in_doubt());
    EXPECT_EQ(stage(), lines{"o"});
}

TEST_F(wire_pipeline, dropping_what_waits_ends_it_as_lost) {
    p.submit(a);
    p.submit(u);
    p.drop_waiting();
    EXPECT_EQ(ends, (lines{"u lost", "a lost"}));
    EXPECT_FALSE(p.has_output(true));
}

}  // namespace
