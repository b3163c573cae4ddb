// SPDX-License-Identifier: BSL-1.0
// What a client tells others of its waits, when the server does not take it.
#include "unit/engine/cluster_engine.hpp"
#include "unit/engine/deadlock_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch::test;

constexpr std::string_view refusals[] = {
    "LOADING Redis is loading the dataset in memory",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to",
    "BUSY Redis is busy running a script.",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "READONLY You can't write against a read only replica.",
};

class engine_deadlock_notices : public deadlock_pair {
protected:
    /// The first client tells once more, and is not answered yet.
    void tell() {
        one.h.advance(250ms);
        unanswered = one.h.sent_commands();
        ASSERT_TRUE(std::any_of(unanswered.begin(), unanswered.end(),
                                [](const command& c) { return c.name == "SET"; }));
    }
    void refuse(std::string_view words) {
        for (const command& c : unanswered) {
            if (c.name == "SET") {
                one.h.reply(error(words));
            } else {
                answer(one, c);
            }
        }
        serve();
    }
    /// How long a record lives, in milliseconds.
    static std::string kept(const client& c) {
        for (const std::string& line : c.sent) {
            if (line.starts_with("SET")) {
                return line.substr(line.rfind(' ') + 1);
            }
        }
        return {};
    }

    std::vector<command> unanswered{};
};

TEST_F(engine_deadlock_notices, that_are_refused_after_their_wait_are_taken_back) {
    for (const std::string_view words : refusals) {
        tell();
        one.h.cancel(*older);
        refuse(words);
        EXPECT_EQ(records.size(), 0u) << words;
        EXPECT_EQ(one.h.engine.belongings().watched_waits, 0u) << words;
        one.sent.clear();
        pass(1s);
        EXPECT_EQ(one.sent, lines{}) << words;
        older = &lock(one, "b", first);
        pass(700ms);
    }
    EXPECT_EQ(said, lines{}) << "nothing is amiss";
}

TEST_F(engine_deadlock_notices, that_are_refused_after_their_hold_are_taken_back) {
    for (const std::string_view words : refusals) {
        tell();
        one.h.unlock(a);
        refuse(words);
        EXPECT_EQ(records.size(), 0u) << words;
        one.sent.clear();
        pass(1s);
        EXPECT_EQ(one.sent, lines{}) << words;
        a = hold(one, "a", first);
        records.clear();
        pass(700ms);
    }
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock_notices, that_were_never_written_are_not_taken_back) {
    records.clear();
    one.h.cancel(*older);
    serve();
    older = &lock(one, "b", first);
    tell();
    one.h.cancel(*older);
    one.sent.clear();
    refuse("OOM command not allowed when used memory > 'maxmemory'.");
    for (const std::string& line : one.sent) {
        EXPECT_FALSE(line.starts_with("DEL")) << line;
    }
    EXPECT_EQ(said, lines{});
}

TEST_F(engine_deadlock_notices, that_were_put_off_are_told_with_the_number_that_was_not_written) {
    const int before = refresh();
    tell();
    refuse("LOADING Redis is loading the dataset in memory");
    EXPECT_EQ(refresh(), before);
    EXPECT_TRUE(comes([&] { return refresh() != before; }, 2s));
    EXPECT_EQ(refresh(), before + 1);
}

TEST_F(engine_deadlock_notices, that_were_refused_do_not_count) {
    const int before = refresh();
    tell();
    refuse("NOPERM this user has no permissions to access one of the keys");
    EXPECT_TRUE(comes([&] { return refresh() != before; }, 2s));
    EXPECT_EQ(refresh(), before + 1);
}

TEST_F(engine_deadlock_notices, have_one_epoch_from_the_first_one_on) {
    EXPECT_EQ(epoch(), "1 2") << "the wait has the number before it";
    EXPECT_EQ(refresh(), 2);
    pass(1s);
    EXPECT_EQ(epoch(), "1 2");
}

TEST_F(engine_deadlock_notices, live_for_three_poll_intervals_and_a_second_at_least) {
    EXPECT_EQ(kept(one), "3000");
    conch::config often = looking();
    often.max_poll_interval = 40ms;
    client& three = join("c3", often);
    hold(three, "d", third);
    lock(three, "a", third);
    pass(100ms);
    EXPECT_EQ(kept(three), "1000");
}

/// An owner holds "a" and waits for "b", both at `m1`.
class engine_deadlock_notices_in_cluster : public cluster_engine {
protected:
    engine_deadlock_notices_in_cluster()
        : cluster_engine{{}, conch::sharded_messages::off, {}, true} {
        hold("a", {.owner = &by});
        waits = &lock("b", {.owner = &by});
        serve("m1");
    }
    void serve(std::string_view host) {
        for (lines all = sent(host); !all.empty(); all = sent(host)) {
            reply(host, answers(all));
        }
    }
    std::string answers(const lines& all) {
        std::string text;
        for (const std::string& line : all) {
            text += answer(line);
        }
        return text;
    }
    std::string answer(const std::string& line) {
        if (line.starts_with("SUBSCRIBE ")) {
            return push("subscribe", line.substr(10), integer(1));
        }
        if (line.starts_with("UNSUBSCRIBE ")) {
            return push("unsubscribe", line.substr(12), integer(0));
        }
        if (line.starts_with("SET ")) {
            told = line;
            return ok();
        }
        return line.starts_with("acquire ")  ? busy(20'000)
               : line.starts_with("status ") ? array(integer(-2), bulk(""))
                                             : integer(1);
    }
    /// What is to be written there next; it is not answered yet.
    std::string next(std::string_view host) {
        for (int n = 0; n < 100; ++n) {
            advance(10ms);
            unanswered = sent(host);
            for (const std::string& line : unanswered) {
                if (line.starts_with("SET ")) {
                    return line;
                }
            }
            if (!unanswered.empty()) {
                reply(host, answers(unanswered));
            }
        }
        return {};
    }
    void sent_on(const char* what) {
        std::string all;
        for (const std::string& line : unanswered) {
            all += line.starts_with("SET ") ? sends_on(what, "a", "m2") : answer(line);
        }
        all += answers(sent("m1"));
        reply("m1", all);
    }
    static std::string epoch_of(const std::string& line) {
        const auto text = line.find(" 1 ");
        return line.substr(text, line.find(' ', text + 3) - text);
    }

    const conch::owner by{};
    operation* waits = nullptr;
    std::string told{};
    lines unanswered{};
};

TEST_F(engine_deadlock_notices_in_cluster, that_are_sent_on_after_their_wait_are_taken_back) {
    for (const char* what : {"MOVED", "ASK"}) {
        ASSERT_NE(next("m1"), "");
        cancel(*waits);
        sent_on(what);
        serve("m1");
        tell_the_same();
        EXPECT_EQ(engine.belongings().watched_waits, 0u) << what;
        waits = &lock("b", {.owner = &by});
        serve("m1");
    }
}

TEST_F(engine_deadlock_notices_in_cluster, that_a_replica_refuses_after_their_wait_are_not_told) {
    ASSERT_NE(next("m1"), "");
    cancel(*waits);
    reply("m1", error("READONLY You can't write against a read only replica."));
    connect("m1");
    serve("m1");
    EXPECT_EQ(told, "");
    EXPECT_EQ(engine.belongings().watched_waits, 0u);
}

TEST_F(engine_deadlock_notices_in_cluster, have_another_epoch_at_another_server) {
    const std::string before = next("m1");
    ASSERT_NE(before, "");
    sent_on("MOVED");
    connect("m2");
    const std::string after = next("m2");
    ASSERT_NE(after, "");
    EXPECT_NE(epoch_of(before), epoch_of(after)) << before << '\n' << after;
}

TEST_F(engine_deadlock_notices_in_cluster, have_another_epoch_each_time_they_were_sent_on) {
    connect_to_m2();
    const std::string before = next("m1");
    ASSERT_NE(before, "");
    sent_on("ASK");
    serve("m2");
    EXPECT_NE(told, "");
    const std::string after = next("m1");
    ASSERT_NE(after, "");
    EXPECT_NE(epoch_of(before), epoch_of(after)) << "m2 may have been another one meanwhile";
}

}  // namespace
