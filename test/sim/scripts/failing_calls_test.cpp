// SPDX-License-Identifier: BSL-1.0
// Each command that a script runs fails once, as a server without memory, without the right or with
// a key of another type lets it fail: no key is left that never expires.
#include "sim/redis/lua_host.hpp"
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

/// A run of a script on what these commands set up.
struct scene {
    const char* name;
    script_id script;
    std::vector<words> before;
    words keys;
    words args;
};

void PrintTo(const scene& s, std::ostream* out) { *out << s.name; }

/// A lock of each family that `by` holds.
words held(script_id acquire, const std::string& by) {
    return call_of(acquire, {"lock"}, {by, half_a_minute, "0"});
}

void add_read_write_locks(std::vector<scene>& all) {
    const words keys{"lock", "deadline", "writer"};
    const words reads = call_of(script_id::shared_read, keys, {mine, half_a_minute});
    const words other_reads =
        call_of(script_id::shared_read, {"lock", "its_deadline", "writer"}, {other, half_a_minute});
    const words writes =
        call_of(script_id::shared_write, {"lock", "writer"}, {mine, half_a_minute, "0"});
    const auto reader = [&](const char* name, std::vector<words> before) {
        all.push_back(
            {name, script_id::shared_read, std::move(before), keys, {mine, half_a_minute}});
    };
    reader("the first reader", {});
    reader("a second reader", {other_reads});
    reader("a reader again", {reads});
    const auto writer = [&](const char* name, std::vector<words> before) {
        all.push_back({name,
                       script_id::shared_write,
                       std::move(before),
                       {"lock", "writer", "its_deadline"},
                       {mine, half_a_minute, "900", other, "1"}});
    };
    writer("a writer", {});
    writer("a writer again", {writes});
    writer("a writer behind a reader", {other_reads});
    writer("a writer behind a dead reader", {other_reads, {"DEL", "its_deadline"}});
    const std::vector<std::vector<words>> holders{{reads}, {writes}, {other_reads, reads}};
    for (const std::vector<words>& before : holders) {
        all.push_back({"a release",
                       script_id::shared_release,
                       before,
                       {"lock"},
                       {"channel", "publish", mine}});
    }
    const words two{"lock", "deadline"};
    const words turns{mine, other, half_a_minute, "channel", "publish"};
    const words turned = call_of(script_id::shared_downgrade, two, turns);
    all.push_back({"a downgrade", script_id::shared_downgrade, {writes}, two, turns});
    all.push_back({"again", script_id::shared_downgrade, {writes, turned}, two, turns});
    all.push_back({"a reader's renewal",
                   script_id::shared_renew,
                   {reads},
                   {"lock", "deadline"},
                   {mine, "60000"}});
    all.push_back({"a dead reader's renewal",
                   script_id::shared_renew,
                   {reads},
                   {"lock", "its_deadline"},
                   {mine, "60000"}});
    all.push_back(
        {"status of readers", script_id::shared_status, {other_reads, reads}, {"lock"}, {}});
}

void add_notes(std::vector<scene>& all) {
    const words keys{"lock", "note"};
    const words holds = held(script_id::acquire, mine);
    const words notes{mine, "1700000000000", "240000", "60000"};
    const words noted = call_of(script_id::once, keys, notes);
    all.push_back({"no note", script_id::once, {holds}, keys, {mine, "-", "240000", "60000"}});
    all.push_back({"a note", script_id::once, {holds}, keys, notes});
    all.push_back({"a note again", script_id::once, {holds, noted}, keys, notes});
    all.push_back(
        {"a note of another", script_id::once, {held(script_id::acquire, other)}, keys, notes});
}

void add_semaphores(std::vector<scene>& all) {
    const words keys{"permits", "once"};
    const words five{"SET", "permits", "5"};
    const auto add = [&](const char* name, script_id script, std::vector<words> before,
                         words args) {
        all.push_back({name, script, std::move(before), keys, std::move(args)});
    };
    const words three{"60000", "take", "2", "1"};
    add("permits", script_id::semaphore_acquire, {five}, three);
    add("permits again", script_id::semaphore_acquire,
        {five, call_of(script_id::semaphore_acquire, keys, three)}, three);
    add("a mark", script_id::semaphore_acquire, {five}, {"60000", "mark", "2"});
    add("too many, again", script_id::semaphore_acquire, {five}, {"60000", "again", "6"});
    for (const char* what :
         {"add", "set", "try_set", "drain", "mark", "arm", "count_down", "open"}) {
        const bool opens = what == std::string{"open"};
        const words args{"60000", "channel", "publish", opens ? "count_down" : what,
                         opens ? "5" : "3"};
        add("a new semaphore", script_id::semaphore_change, {}, args);
        add("a change", script_id::semaphore_change, {five}, args);
    }
}

/// What the ids of an acquisition begin with, and of another.
const std::string my_permits = "of an owner 11";
const std::string other_permits = "of an owner 12";

void add_leased_permits(std::vector<scene>& all) {
    const words keys{"leased", "out"};
    const words five{"SET", "leased", "5"};
    const auto takes = [&](const std::string& who, const std::string& number) {
        return call_of(script_id::permits_acquire, keys,
                       {who, number, half_a_minute, "c", "publish"});
    };
    const words over{"ZADD", "out", "1", "late", "2", "later"};
    const auto acquire = [&](const char* name, std::vector<words> before,
                             const std::string& number = "2") {
        all.push_back({name,
                       script_id::permits_acquire,
                       std::move(before),
                       keys,
                       {my_permits, number, half_a_minute, "c", "publish"}});
    };
    acquire("leased permits", {five});
    acquire("leased permits again", {five, takes(my_permits, "2")});
    acquire("leased permits of others", {five, takes(other_permits, "4")});
    acquire("leased permits that come back", {five, takes(other_permits, "4"), over});
    acquire("more than come back", {five, takes(other_permits, "4"), over}, "4");
    acquire("a part that came back", {five, takes(my_permits, "2"), {"ZPOPMIN", "out"}});
    acquire("more than there are", {five}, "6");
    acquire("of a semaphore with a TTL", {{"SET", "leased", "5", "PX", "90000"}});
    acquire("leased permits behind others", {five, takes(other_permits, "2")});
    all.back().args.push_back(other_permits);
    const std::vector<std::vector<words>> holders{
        {five}, {five, takes(my_permits, "2")}, {five, takes(my_permits, "1")}};
    for (const std::vector<words>& before : holders) {
        all.push_back({"a release of permits",
                       script_id::permits_release,
                       before,
                       keys,
                       {"c", "publish", my_permits, "2"}});
        all.push_back({"a renewal of permits",
                       script_id::permits_renew,
                       before,
                       {"out"},
                       {my_permits, "2", "60000"}});
        all.push_back({"a status of permits", script_id::permits_status, before, keys, {}});
    }
    all.push_back({"a forced release of permits",
                   script_id::permits_release,
                   {five, over},
                   keys,
                   {"c", "publish", "", "late", "later"}});
    for (const char* what : {"add", "set", "try_set"}) {
        all.push_back({"a change of leased permits",
                       script_id::semaphore_change,
                       {five, takes(my_permits, "2")},
                       {"leased", "once", "out"},
                       {"60000", "c", "publish", what, "3"}});
    }
}

void add_fair_locks(std::vector<scene>& all) {
    const words free_of_fences{"lock", "line", "times", "wishes"};
    words keys = free_of_fences;
    keys.emplace_back("fence");
    const auto asks = [&](const std::string& who, const std::string& place) {
        return call_of(script_id::fair_acquire, keys, {who, half_a_minute, "900", place, "1"});
    };
    const words other_holds = asks(other, "0");
    const words waits = asks(mine, "3000");
    const auto acquire = [&](const char* name, std::vector<words> before,
                             const std::string& place = "3000") {
        all.push_back({name,
                       script_id::fair_acquire,
                       std::move(before),
                       keys,
                       {mine, half_a_minute, "900", place, "1"}});
    };
    all.push_back({"a free fair lock",
                   script_id::fair_acquire,
                   {},
                   free_of_fences,
                   {mine, half_a_minute, "0", "3000", "1"}});
    acquire("a fair lock with a fence", {});
    acquire("a fair lock again", {asks(mine, "0")});
    acquire("in line", {other_holds});
    acquire("in line again", {other_holds, waits});
    acquire("not in line", {other_holds}, "0");
    acquire("first in line", {other_holds, waits, asks("second", "3000"), {"DEL", "lock"}});
    acquire("second in line", {other_holds, asks("first", "3000"), waits, {"DEL", "lock"}});
    const std::vector<std::vector<words>> lines{
        {asks(mine, "0")},
        {asks(mine, "0"), asks(other, "3000"), asks("second", "3000")},
        {other_holds, waits, asks("second", "3000")},
        {other_holds, waits, asks("second", "3000"), {"DEL", "lock"}},
    };
    for (const std::vector<words>& before : lines) {
        all.push_back({"a release of a fair lock",
                       script_id::fair_release,
                       before,
                       keys,
                       {mine, "channel", "publish"}});
    }
}

std::vector<scene> scenes() {
    std::vector<scene> all;
    const auto family = [&](script_id acquire, script_id acquire_many, script_id release,
                            script_id release_many, script_id renew, script_id nest,
                            script_id status) {
        all.push_back({"a free lock", acquire, {}, {"lock"}, {mine, half_a_minute, "0"}});
        all.push_back({"with a fence", acquire, {}, {"lock", "fence"}, {mine, half_a_minute, "0"}});
        all.push_back(
            {"a fence with a TTL", acquire, {}, {"lock", "fence"}, {mine, half_a_minute, "900"}});
        all.push_back(
            {"again", acquire, {held(acquire, mine)}, {"lock"}, {mine, half_a_minute, "0"}});
        all.push_back(
            {"busy", acquire, {held(acquire, other)}, {"lock"}, {mine, half_a_minute, "0"}});
        all.push_back({"a take-over",
                       acquire,
                       {held(acquire, other)},
                       {"lock", "fence"},
                       {mine, half_a_minute, "0", other}});
        all.push_back({"several",
                       acquire_many,
                       {},
                       {"lock", "fence", "b", "fence_b"},
                       {"2", mine, half_a_minute, "0", other, half_a_minute, "0"}});
        all.push_back({"release", release, {held(acquire, mine)}, {"lock"}, {mine, "channel"}});
        all.push_back({"releases",
                       release_many,
                       {held(acquire, mine)},
                       {"lock", "b"},
                       {"2", mine, "channel", mine, "channel"}});
        all.push_back({"renewal",
                       renew,
                       {held(acquire, mine)},
                       {"lock", "b"},
                       {mine, "60000", mine, "60000"}});
        all.push_back({"nest", nest, {held(acquire, mine)}, {"lock"}, {mine, "2", "60000"}});
        all.push_back({"status", status, {held(acquire, mine)}, {"lock", "fence"}, {}});
    };
    family(script_id::acquire, script_id::acquire_many, script_id::release, script_id::release_many,
           script_id::renew, script_id::nest, script_id::status);
    family(script_id::value_acquire, script_id::value_acquire_many, script_id::value_release,
           script_id::value_release_many, script_id::value_renew, script_id::value_nest,
           script_id::value_status);
    add_read_write_locks(all);
    add_notes(all);
    add_semaphores(all);
    add_leased_permits(all);
    add_fair_locks(all);
    for (const script_id rate :
         {script_id::rate_window, script_id::rate_log, script_id::rate_gcra}) {
        const words args{"5", "60000", "2", "1"};
        all.push_back({"first permits", rate, {}, {"calls"}, args});
        all.push_back({"more permits", rate, {call_of(rate, {"calls"}, args)}, {"calls"}, args});
    }
    return all;
}

class failing_calls : public ::testing::TestWithParam<scene> {
protected:
    /// The keys that never expire, but for semaphores, and for those of fencing tokens that shall
    /// not.
    static std::string endless_keys(script_player& p) {
        const words& args = GetParam().args;
        const bool tokens_stay = args.size() < 3 || args[2] == "0" || args[0] == "2";
        std::istringstream all{p.server.dump(p.now_us)};
        std::string endless;
        for (std::string line; std::getline(all, line);) {
            if (line.ends_with(" -1") && !line.starts_with("permits") && !is_leased() &&
                !(tokens_stay && line.starts_with("fence"))) {
                endless += line + '\n';
            }
        }
        return endless;
    }

    static bool is_leased() { return GetParam().keys.back() == "out"; }
    /// Permits that are left, and that are out.
    static std::int64_t leased(script_player& p) {
        return p.server.number("leased", p.now_us).value_or(0) +
               static_cast<std::int64_t>(p.server.scores("out", p.now_us).size());
    }

    /// How many commands the script runs, where number `n` fails with these words.
    std::size_t run_and_fail(std::size_t n, const std::string& words_of_failure) {
        script_player p;
        for (const words& w : GetParam().before) {
            p.ask(w);
        }
        const bool held_before = p.server.has_field("lock", mine, p.now_us);
        const std::string before = p.server.dump(p.now_us + 2'000);
        const std::int64_t permits = leased(p);
        const std::size_t out_before = p.server.scores("out", p.now_us).size();
        lua_host::instance().fail_call(n, words_of_failure);
        const std::string reply =
            p.ask(call_of(GetParam().script, GetParam().keys, GetParam().args));
        EXPECT_EQ(endless_keys(p), "") << n << ": " << words_of_failure << ": " << reply;
        const bool denied = reply.starts_with("-") || reply.starts_with("*2\r\n-");
        if (denied && !held_before) {
            EXPECT_FALSE(p.server.has_field("lock", mine, p.now_us)) << n << ": denied, but held";
        }
        if (denied && GetParam().keys.front() == "permits") {
            EXPECT_EQ(p.server.dump(p.now_us + 2'000), before)
                << n << ": denied, but something is done";
        }
        if (is_leased() && GetParam().script != script_id::semaphore_change) {
            EXPECT_EQ(leased(p), permits) << n << ": " << words_of_failure << ": " << reply;
            if (denied) {
                EXPECT_LE(p.server.scores("out", p.now_us).size(), out_before)
                    << n << ": denied, but taken";
            }
        }
        return lua_host::instance().calls();
    }
};

TEST_P(failing_calls, leave_no_key_without_expiry_and_no_lock_that_the_answer_denies) {
    for (const char* why : {"OOM command not allowed when used memory > 'maxmemory'.",
                            "NOPERM this user has no permissions to run this command",
                            "WRONGTYPE Operation against a key holding the wrong kind of value"}) {
        const std::size_t calls = run_and_fail(static_cast<std::size_t>(-2), why);
        ASSERT_GT(calls, 0u);
        for (std::size_t n = 0; n < calls; ++n) {
            run_and_fail(n, why);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(scripts, failing_calls, ::testing::ValuesIn(scenes()));

TEST(fencing_scripts, a_clock_beyond_all_tokens_takes_no_lock) {
    for (const script_id acquire : {script_id::acquire, script_id::value_acquire}) {
        script_player p;
        p.now_us = 9'007'199'254'740'991;  // in the year 2255
        const std::string reply =
            p.ask(call_of(acquire, {"lock", "fence"}, {mine, half_a_minute, "0"}));
        EXPECT_TRUE(reply.starts_with("-ERR the server's clock is beyond")) << reply;
        EXPECT_EQ(p.ask({"EXISTS", "lock", "fence"}), ":0\r\n");
    }
}

}  // namespace
