// SPDX-License-Identifier: BSL-1.0
// Locks that ask for replicas by several terms, on one connection.
#include "unit/engine/replicas_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::duration;
using conch::errc;

constexpr conch::mutex_options ask_for(unsigned replicas, duration within) {
    return {.replicas = {.at_least = replicas, .within = within}};
}

/// A server whose replicas acknowledge nothing: it carries out one command after the other, and
/// nothing behind a WAIT before that is over.
struct engine_replicas_frozen : replicas_fixture {
    conch::impl::view_ptr hold_one(std::string_view name, const conch::mutex_options& m,
                                   const conch::lock_options& o) {
        use(name, m);
        return hold(name, o);
    }

    void run(duration length) {
        for (const conch::time_point end = h.now() + length; h.now() < end;) {
            serve();
            h.advance(1ms);
        }
    }

    void serve() {
        for (command& c : h.sent_commands()) {
            commands.push_back(std::move(c));
        }
        for (; !commands.empty(); commands.pop_front()) {
            const command& c = commands.front();
            if (c.name != "WAIT") {
                h.reply(c.name == "renew" ? renewed(c.keys.size()) : integer(0));
                continue;
            }
            if (!until) {
                const auto given = std::chrono::milliseconds{std::stoi(c.args.at(1))};
                longest = std::max(longest, given);
                until = h.now() + given;
            }
            if (h.now() < *until) {
                return;
            }
            until.reset();
            h.reply(integer(0));
        }
    }

    static std::string renewed(std::size_t n) {
        std::string out = join("*", n, "\r\n");
        for (; n > 0; --n) {
            out += integer(1);
        }
        return out;
    }

    std::deque<command> commands{};
    std::optional<conch::time_point> until{};
    std::chrono::milliseconds longest{};
};

TEST_F(engine_replicas_frozen, terms_do_not_add_up_to_the_loss_of_a_hold) {
    std::vector<conch::impl::view_ptr> holds;
    for (int i = 0; i < 5; ++i) {
        const auto within = 750ms - std::chrono::milliseconds{i};
        holds.push_back(hold_one(join("lock", i), ask_for(1, within), {.lease = 3s}));
        h.advance(20ms);
    }
    run(30s);
    for (const auto& view : holds) {
        EXPECT_EQ(lost(view), errc{});
        EXPECT_GT(valid_until(view), h.now() + 1s);
    }
    EXPECT_GE(h.counters().renewals_not_replicated, 5u);
}

TEST_F(engine_replicas_frozen, long_terms_leave_room_for_the_renewals_of_a_short_lease) {
    const auto brief = hold_one("brief", ask_for(1, 100ms), {.lease = 400ms});
    const auto other = hold_one("other", ask_for(1, 1500ms), {.lease = 6s});
    run(20s);
    EXPECT_EQ(lost(brief), errc{});
    EXPECT_EQ(lost(other), errc{});
    EXPECT_EQ(longest, 100ms);
}

struct engine_replicas_terms : replicas_fixture {
    engine_replicas_terms() { use("b", two_replicas); }
};

TEST_F(engine_replicas_terms, share_a_wait_that_leaves_behind_all_of_them) {
    h.turn([&] {
        h.lock("a");
        h.lock("b");
    });
    h.connect();
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1), acquire_of("b", 2), wait_one}));
    h.reply(granted(), granted(), integer(2));
    EXPECT_TRUE(h.operation_at(0).granted());
    EXPECT_TRUE(h.operation_at(1).granted()) << "so many have both";
    EXPECT_EQ(h.sent(), lines{});
}

TEST_F(engine_replicas_terms, that_were_not_met_by_it_ask_next) {
    h.turn([&] {
        h.lock("a");
        h.lock("b");
    });
    h.connect();
    h.sent();
    h.reply(granted(), granted(), integer(1));
    EXPECT_TRUE(h.operation_at(0).granted());
    EXPECT_FALSE(h.operation_at(1).done());
    EXPECT_EQ(h.sent(), lines{wait_two});
    h.reply(integer(1));
    EXPECT_TRUE(h.operation_at(1).ended(errc::not_replicated));
}

TEST_F(engine_replicas_terms, are_not_judged_by_a_wait_that_others_could_not_carry_out) {
    h.turn([&] {
        h.lock("a");
        h.lock("b");
    });
    h.connect();
    h.sent();
    h.reply(granted(), granted(), error("ERR unknown"));
    EXPECT_TRUE(h.operation_at(0).ended(errc::server_error));
    EXPECT_FALSE(h.operation_at(1).done());
    EXPECT_EQ(h.sent(), (lines{release_of("a", 1), wait_two}));
    h.reply(integer(0), integer(2));
    EXPECT_TRUE(h.operation_at(1).granted());
}

TEST_F(engine_replicas_terms, have_one_wait_on_its_way_and_what_is_written_behind_it_has_the_next) {
    h.lock("a");
    h.connect();
    operation& second = h.lock("b");
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 1), wait_one, acquire_of("b", 2)}));
    h.reply(granted(), integer(2));
    EXPECT_EQ(h.sent(), lines{wait_two});
    h.reply(granted(), integer(2));
    EXPECT_TRUE(second.granted());
}

TEST_F(engine_replicas_terms, take_turns) {
    use("c", ask_for(3, 50ms));
    h.lock("a");
    h.connect();
    h.lock("b");
    h.lock("c");
    use("d", one_replica);
    h.lock("d");
    h.sent();
    h.reply(granted(), integer(1), granted(), granted(), granted());
    EXPECT_EQ(h.sent(), lines{wait_two});
    h.reply(integer(1));
    EXPECT_TRUE(h.operation_at(3).granted()) << "one has it";
    EXPECT_EQ(h.sent(), (lines{release_of("b", 2), "WAIT 3 50"}));
    h.reply(integer(0), integer(1));
    EXPECT_TRUE(h.operation_at(2).ended(errc::not_replicated));
    EXPECT_EQ(h.sent(), (lines{release_of("c", 3), wait_one})) << "it was asked for";
    h.reply(integer(0), integer(1));
}

TEST_F(engine_replicas_terms, of_renewals_are_met_together_too) {
    hold("a", {.lease = 3s});
    h.lock("b", {.lease = 3s});
    h.reply(granted(), integer(2));
    h.advance(1s);
    EXPECT_EQ(h.sent().back(), wait_one);
    h.reply(array(integer(1), integer(1)), integer(2));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(1s);
    h.reply(array(integer(1), integer(1)), integer(1));
    EXPECT_EQ(h.counters().renewals_not_replicated, 0u);
    EXPECT_EQ(h.sent().back(), wait_two);
    h.reply(integer(1));
    EXPECT_EQ(h.counters().renewals_not_replicated, 1u) << "one of them has too few";
}

TEST_F(engine_replicas_terms, are_asked_for_anew_on_the_next_connection) {
    h.turn([&] {
        h.lock("a");
        h.lock("b");
    });
    h.connect();
    h.reply(granted(), granted());
    h.sent();
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", acquire_of("a", 1), acquire_of("b", 2)}));
    h.reply(integer(1), granted(), granted());
    EXPECT_EQ(h.sent(), lines{wait_one});
    h.reply(integer(1));
    EXPECT_TRUE(h.operation_at(0).granted());
    EXPECT_EQ(h.sent(), lines{wait_two});
    h.reply(integer(1));
    EXPECT_TRUE(h.operation_at(1).ended(errc::not_replicated));
}

TEST_F(engine_replicas_terms, that_are_long_are_cut_to_a_quarter_of_the_shortest_renewed_lease) {
    hold("a", {.lease = 401ms});
    use("long", ask_for(1, 1500ms));
    h.lock("long", {.lease = 6s});
    EXPECT_EQ(h.sent(), (lines{acquire_of("long", 2, 6000), "WAIT 1 100"}));
    h.reply(granted(), integer(0));
    EXPECT_TRUE(h.operation_at(1).ended(errc::not_replicated));
}

TEST_F(engine_replicas_terms, are_not_cut_for_a_lease_that_is_not_renewed) {
    hold("a", {.lease = 400ms, .renew = false});
    use("long", ask_for(1, 1500ms));
    h.lock("long", {.lease = 6s});
    EXPECT_EQ(h.sent(), (lines{acquire_of("long", 2, 6000), "WAIT 1 1500"}));
}

TEST_F(engine_replicas_terms, are_not_cut_for_locks_that_ask_nobody) {
    use("other", {});
    h.lock("other", {.lease = 100ms});  // on the other connection
    hold("a");
    use("long", ask_for(1, 1500ms));
    h.lock("long", {.lease = 6s});
    EXPECT_EQ(h.sent(), (lines{acquire_of("long", 3, 6000), "WAIT 1 1500"}));
}

TEST_F(engine_replicas_terms, are_not_forgotten_while_they_stand_in_line) {
    std::string renewed = "*10\r\n";
    for (int i = 0; i < 10; ++i) {
        use(join("lock", i), ask_for(1, 100ms + std::chrono::milliseconds{i}));
        hold(join("lock", i));
        renewed += integer(1);
    }
    h.advance(10s);
    h.sent();
    h.reply(renewed);
    for (int i = 0; i < 10; ++i) {
        h.reply(integer(0));
        EXPECT_EQ(h.sent().size(), i < 9 ? 1u : 0u);
    }
    EXPECT_EQ(h.counters().renewals_not_replicated, 10u);
}

}  // namespace
