// SPDX-License-Identifier: BSL-1.0
// `conch run -l`: several locks, all or none.
#include "support/command_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class several_command_test : public command_fixture {
protected:
    static words several(words options, const words& command) {
        options.insert(options.end(), {"-l", "other", "--lock", "third"});
        return run_words(options, command);
    }
};

TEST_F(several_command_test, the_command_runs_while_all_are_held) {
    program run{several({}, until_end_of_input), here()};
    run.wait_for("in\n");
    for (const char* const key : {"lock", "other", "third"}) {
        EXPECT_TRUE(raw.exists(key)) << key;
    }
    run.end_input();
    EXPECT_EQ(run.finish().status, 0) << run.finish().err;
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(several_command_test, one_that_is_held_refuses_all_of_them) {
    take_as_stranger(raw, "other");
    const ended end = [&] {
        program run{several({"-n"}, {"echo", "ran"}), here()};
        return run.finish();
    }();
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
    expect_in("\"lock, other, third\"", end.err);
    EXPECT_EQ(raw.dbsize(), 1) << "the others were given back";
}

TEST_F(several_command_test, the_command_finds_the_names) {
    program run{several({}, {"sh", "-c", "echo $CONCH_NAME"}), here()};
    EXPECT_EQ(run.finish().out, "lock, other, third\n");
}

TEST_F(several_command_test, readers_of_several_share_them) {
    program one{several({"-s"}, until_end_of_input), here()};
    one.wait_for("in\n");
    program two{several({"-s", "-n"}, {"echo", "beside"}), here()};
    EXPECT_EQ(two.finish().out, "beside\n");
    one.end_input();
    EXPECT_EQ(one.finish().status, 0);
}

TEST_F(several_command_test, what_makes_no_sense_is_refused_with_a_reason) {
    const auto refused = [&](const words& options, const char* why) {
        const ended end = run_to_end(options, {"echo", "ran"});
        EXPECT_EQ(end.status, 64);
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
        expect_in(why, end.err);
    };
    refused({"-l", "lock"}, "is there twice");
    refused({"-l", ""}, "NAME is empty");
    refused({"-l", "other", "--fenced"}, "exclude each other");
    refused({"-l", "other", "--redis", "redis://a", "--redis", "redis://b"}, "one --redis only");
    words many;
    for (int i = 0; i < 31; ++i) {
        many.insert(many.end(), {"-l", std::to_string(i)});
    }
    refused(many, "more than 31 locks");
}

}  // namespace
