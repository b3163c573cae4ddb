// SPDX-License-Identifier: BSL-1.0
// Permits with leases, of which a part has come back or whose count is gone: what scripts that run
// once more, or later, make of it.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

class permits_scripts : public ::testing::Test {
protected:
    static constexpr const char* prefix = "fourteen bytes";

    std::string run(script_id id, const words& keys, const words& args) {
        return p.ask(call_of(id, keys, args));
    }
    std::string take(int permits) {
        return run(script_id::permits_acquire, {"permits", "out"},
                   {prefix, std::to_string(permits), "30000", "channel", "publish"});
    }
    /// By another, who asks behind that one.
    std::string take_behind(int permits) {
        return run(
            script_id::permits_acquire, {"permits", "out"},
            {"another prefix", std::to_string(permits), "30000", "channel", "publish", prefix});
    }
    std::string set(const std::string& how, int permits) {
        return run(script_id::semaphore_change, {"permits", "once:" + how, "out"},
                   {"60000", "channel", "publish", how, std::to_string(permits)});
    }
    static std::string id(int n) { return prefix + std::string(1, '\0') + static_cast<char>(n); }
    void expect(int left, int out) {
        EXPECT_EQ(p.ask({"GET", "permits"}), "$" + std::to_string(std::to_string(left).size()) +
                                                 "\r\n" + std::to_string(left) + "\r\n");
        EXPECT_EQ(p.ask({"ZCARD", "out"}), ":" + std::to_string(out) + "\r\n");
    }

    script_player p{};
};

TEST_F(permits_scripts, whichever_of_them_came_back_a_repeated_acquire_has_them_all) {
    for (const int lost : {1, 2, 3}) {
        p.ask({"FLUSHALL"});
        set("set", 3);
        EXPECT_EQ(take(3), "$0\r\n\r\n");
        p.ask({"ZREM", "out", id(lost)});
        p.ask({"INCRBY", "permits", "1"});
        EXPECT_EQ(take(3), "$0\r\n\r\n") << lost;
        expect(0, 3);
    }
}

TEST_F(permits_scripts, a_status_tells_what_is_out_and_counts_what_is_over_as_left) {
    const auto status = [this] { return run(script_id::permits_status, {"permits", "out"}, {}); };
    EXPECT_EQ(status(),
              "*7\r\n:-2\r\n$0\r\n\r\n$0\r\n\r\n$1\r\n0\r\n$7\r\npermits\r\n:0\r\n:0\r\n");
    set("set", 3);
    take(2);
    p.ask({"ZADD", "out", "1", "an id of Redisson's, which is over"});
    p.ask({"ZADD", "out", "9e15", "and one that isn't"});
    const std::string id = "666f75727465656e20627974657300";  // but for its number
    EXPECT_EQ(status(), "*7\r\n:30000\r\n$0\r\n\r\n$65\r\n" + id + "01 " + id +
                            "02\r\n$1\r\n3\r\n" + "$7\r\npermits\r\n:2\r\n:1\r\n");
    p.now_us += 30'000'000;
    EXPECT_EQ(status().substr(status().find("$7")), "$7\r\npermits\r\n:4\r\n:1\r\n");
}

TEST_F(permits_scripts, a_check_tells_what_is_left_even_if_that_is_nothing) {
    set("set", 3);
    take(3);
    p.now_us += 29'999'000;
    for (int i = 0; i < 3; ++i, p.now_us += 1000) {
        EXPECT_EQ(run(script_id::permits_renew, {"out"}, {prefix, "3", "0"}), "*1\r\n:2\r\n")
            << "1 would be: as was asked for";
    }
}

TEST_F(permits_scripts, a_busy_acquire_changes_nothing) {
    set("set", 3);
    take(2);
    EXPECT_TRUE(run(script_id::permits_acquire, {"permits", "out"},
                    {"another prefix", "2", "30000", "channel", "publish"})
                    .starts_with(":"));
    expect(1, 2);
}

TEST_F(permits_scripts, who_asks_behind_one_that_has_none_gets_none) {
    set("set", 3);
    EXPECT_EQ(take_behind(1), ":-2\r\n");
    expect(3, 0);
    take(2);
    EXPECT_EQ(take_behind(1), "$0\r\n\r\n");
    expect(0, 3);
    p.ask({"ZREM", "out", id(1), id(2)});
    EXPECT_EQ(take_behind(1), "$0\r\n\r\n") << "it has its own already";
}

TEST_F(permits_scripts, a_count_that_was_deleted_is_set_to_what_is_not_out) {
    set("set", 5);
    take(2);
    p.ask({"PEXPIRE", "out", "1000"});
    p.ask({"DEL", "permits"});
    EXPECT_TRUE(set("try_set", 5).starts_with("*2\r\n:1\r\n"));
    expect(3, 2);
    p.now_us += 5'000'000;
    expect(3, 2);
}

TEST(semaphore_scripts, no_earlier_copy_takes_more_than_a_repeated_one) {
    for (const char* how : {"again", "mark"}) {
        script_player p;
        const words keys{"permits", "once"};
        p.ask({"SET", "permits", "1"});
        const words late = call_of(script_id::semaphore_acquire, keys, {"60000", "take", "2"});
        EXPECT_EQ(p.ask(call_of(script_id::semaphore_acquire, keys, {"60000", how, "2"})),
                  ":0\r\n");
        p.ask({"SET", "permits", "2"});
        EXPECT_EQ(p.ask(late), ":0\r\n") << how;
        EXPECT_EQ(p.ask({"GET", "permits"}), "$1\r\n2\r\n") << how;
    }
}

TEST(semaphore_scripts, what_failed_for_want_of_a_right_is_not_taken_for_done_when_it_is_repeated) {
    const words keys{"permits", "once"};
    const auto change = [&](const char* what) {
        return call_of(script_id::semaphore_change, keys,
                       {"60000", "channel", "publish", what, "3"});
    };
    for (const words& copy : {call_of(script_id::semaphore_acquire, keys, {"60000", "take", "3"}),
                              change("add"), change("drain"), change("count_down")}) {
        script_player p;
        p.ask({"SET", "permits", "3"});
        const std::string before = p.server.dump(p.now_us + 2'000);
        lua_host::instance().deny_commands({"incrby", "del"});
        EXPECT_TRUE(p.ask(copy).starts_with("-NOPERM"));
        EXPECT_EQ(p.server.dump(p.now_us + 2'000), before);
        p.ask(copy);
        EXPECT_NE(p.server.dump(p.now_us + 2'000), before) << copy[copy.size() - 2];
    }
}

TEST(semaphore_scripts, no_earlier_copy_changes_what_a_later_one_did_not) {
    for (const words& args : {words{"try_set", "9"}, words{"mark", "9"}, words{"drain", "0"}}) {
        script_player p;
        const words keys{"permits", "once"};
        p.ask({"SET", "permits", "0"});
        const words copy = call_of(script_id::semaphore_change, keys,
                                   {"60000", "channel", "publish", args[0], args[1]});
        const std::string answer = p.ask(copy);
        p.ask({"SET", "permits", "2"});
        EXPECT_EQ(p.ask(copy), answer) << args[0];
        EXPECT_EQ(p.ask({"GET", "permits"}), "$1\r\n2\r\n") << args[0];
    }
}

}  // namespace
