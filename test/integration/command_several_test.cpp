// SPDX-License-Identifier: BSL-1.0
// `conch run -l`: several locks, all or none.
#include "support/command_fixture.hpp"

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

struct several_of_a_kind {
    const char* option;    ///< with which all are taken
    const char* asked;     ///< by which `conch status` is told the kind
    const char* excluded;  ///< with which none of them can be taken then
    const char* told;      ///< by `conch status`, of each
    const char* key;       ///< where a waiter for "other" stands in line; null: it listens
    const char* channel;   ///< to which it listens
};

const std::vector<several_of_a_kind> several_kinds{
    {"--fair", "--fair", "--fair", "fair mutex, locked\n", "redisson_lock_queue:{other}", nullptr},
    {"--rw", "--rw", "--shared", "read-write lock, written\n", nullptr, "redisson_rwlock:{other}"},
    {"--shared", "--rw", "--rw", "read-write lock, read by 1\n", nullptr,
     "redisson_rwlock:{other}"},
    {"--plain", "--plain", "--plain", "plain lock, locked\n", nullptr,
     "conch_token_mutex_channel:{other}"}};

class several_command_test : public command_fixture {
protected:
    static words several(words options, const words& command) {
        options.insert(options.end(), {"-l", "other", "--lock", "third"});
        return run_words(options, command);
    }
    void expect_refused(const words& options, const char* why) const {
        const ended end = run_to_end(options, {"echo", "ran"});
        EXPECT_EQ(end.status, 64);
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
        expect_in(why, end.err);
    }
    bool one_waits(const several_of_a_kind& k) {
        return run_until(io, [&] {
            return (k.key ? raw.must({"LLEN", k.key}).number : raw.subscribers(k.channel)) == 1;
        });
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

TEST_F(several_command_test, all_are_of_the_kind_of_the_first) {
    for (const several_of_a_kind& k : several_kinds) {
        SCOPED_TRACE(k.option);
        program run{several({k.option}, until_end_of_input), here()};
        run.wait_for("in\n");
        for (const std::string name : {"lock", "other", "third"}) {
            expect_in(name + ": " + k.told, to_end({"status", k.asked, name}).out);
            const ended none = to_end({"run", k.excluded, "-n", name, "--", "echo", "ran"});
            EXPECT_EQ(none.status, 1) << none.err;
            EXPECT_EQ(none.out, "") << name;
        }
        run.end_input();
        EXPECT_EQ(run.finish().status, 0) << run.finish().err;
        expect_free();
    }
}

TEST_F(several_command_test, of_any_kind_one_that_is_held_refuses_or_delays_all_of_them) {
    for (const several_of_a_kind& k : several_kinds) {
        SCOPED_TRACE(k.option);
        words one = conch({"run", k.excluded, "other", "--"});
        one.insert(one.end(), until_end_of_input.begin(), until_end_of_input.end());
        program holder{one, here()};
        holder.wait_for("in\n");
        program hasty{several({k.option, "-n"}, {"echo", "ran"}), here()};
        EXPECT_EQ(hasty.finish().status, 1);
        EXPECT_EQ(hasty.finish().out, "");
        expect_one_line(hasty.finish().err);
        expect_in("\"lock, other, third\"", hasty.finish().err);
        EXPECT_FALSE(raw.exists("lock") || raw.exists("third")) << "they were given back";
        program waiter{several({k.option}, until_end_of_input), here()};
        EXPECT_TRUE(one_waits(k));
        EXPECT_TRUE(run_until(io, [&] { return !raw.exists("lock") && !raw.exists("third"); }));
        holder.end_input();
        EXPECT_EQ(holder.finish().status, 0) << holder.finish().err;
        waiter.wait_for("in\n");
        for (const char* const key : {"lock", "other", "third"}) {
            EXPECT_TRUE(raw.exists(key)) << key;
        }
        waiter.end_input();
        EXPECT_EQ(waiter.finish().status, 0) << waiter.finish().err;
        expect_free();
    }
}

TEST_F(several_command_test, thirty_one_are_taken_together_and_one_more_is_refused) {
    words more;
    for (int i = 1; i < 31; ++i) {
        more.insert(more.end(), {"-l", std::to_string(i)});
    }
    program run{run_words(more, until_end_of_input), here()};
    run.wait_for("in\n");
    EXPECT_EQ(raw.dbsize(), 31);
    run.end_input();
    EXPECT_EQ(run.finish().status, 0) << run.finish().err;
    expect_free();
    more.insert(more.end(), {"-l", "31"});
    expect_refused(more, "more than 31 locks");
}

TEST_F(several_command_test, what_makes_no_sense_is_refused_with_a_reason) {
    expect_refused({"-l", "lock"}, "is there twice");
    expect_refused({"--fair", "-l", "lock"}, "is there twice");
    expect_refused({"-l", ""}, "NAME is empty");
    expect_refused({"-l", "other", "--fenced"}, "exclude each other");
    expect_refused({"-l", "other", "--fenced", "--fair"}, "exclude each other");
    expect_refused({"-l", "other", "--fair", "--plain"}, "exclude each other");
    expect_refused({"-l", "other", "--lead"}, "--lead and --lock exclude each other");
    expect_refused({"-l", "other", "--once-per", "1d"}, "--once-per goes with one lock");
    for (const words& semaphore : {words{"--at-most", "2"}, words{"--semaphore"}}) {
        words options = semaphore;
        options.insert(options.end(), {"-l", "other"});
        expect_refused(options,
                       "--lock and a semaphore (--at-most, --semaphore) exclude each other");
    }
    expect_refused({"-l", "other", "--redis", "redis://a", "--redis", "redis://b"},
                   "one --redis only");
    expect_free();
}

}  // namespace
