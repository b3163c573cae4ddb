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
        words w{"EVALSHA", std::string{wire::get_script(id).sha1}, std::to_string(keys.size())};
        w.insert(w.end(), keys.begin(), keys.end());
        w.insert(w.end(), args.begin(), args.end());
        return p.ask(w);
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

}  // namespace
