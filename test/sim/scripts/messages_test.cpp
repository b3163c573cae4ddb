// SPDX-License-Identifier: BSL-1.0
// Each script that tells who waits does so by the verb that it is given, and ends its work where a
// server doesn't know that verb.
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

/// In place of the verb: of some scripts, none means PUBLISH.
const std::string verb = "VERB";
const std::string verb_or_none = "VERB?";

/// A run of a script that has something to tell, on what these commands set up.
struct telling {
    const char* name;
    script_id script;
    std::vector<words> before;
    words keys;
    words args;
    std::size_t messages;
};

void PrintTo(const telling& t, std::ostream* out) { *out << t.name; }

words call_by(const telling& t, const std::string& how) {
    words args = t.args;
    if (how == "publish") {
        std::erase(args, verb_or_none);
    }
    std::replace(args.begin(), args.end(), verb_or_none, how);
    std::replace(args.begin(), args.end(), verb, how);
    return call_of(t.script, t.keys, args);
}

void add_mutexes(std::vector<telling>& all) {
    const auto family = [&](script_id acquire, script_id release, script_id release_many) {
        const std::vector<words> held{call_of(acquire, {"lock"}, {mine, half_a_minute, "0"}),
                                      call_of(acquire, {"b"}, {other, half_a_minute, "0"})};
        all.push_back({"a release", release, held, {"lock"}, {mine, "channel", verb_or_none}, 1});
        all.push_back({"releases",
                       release_many,
                       held,
                       {"lock", "b"},
                       {"2", mine, "channel", verb_or_none, other, "channel", verb_or_none},
                       2});
    };
    family(script_id::acquire, script_id::release, script_id::release_many);
    family(script_id::value_acquire, script_id::value_release, script_id::value_release_many);
}

void add_read_write_locks(std::vector<telling>& all) {
    const words reads =
        call_of(script_id::shared_read, {"lock", "deadline", "writer"}, {mine, half_a_minute});
    const words writes =
        call_of(script_id::shared_write, {"lock", "writer"}, {mine + ":write", half_a_minute, "0"});
    all.push_back({"a release of a read-write lock",
                   script_id::shared_release,
                   {reads},
                   {"lock", "deadline"},
                   {"channel", verb, mine},
                   1});
    all.push_back({"a downgrade",
                   script_id::shared_downgrade,
                   {writes},
                   {"lock", "deadline"},
                   {mine + ":write", mine, half_a_minute, "channel", verb},
                   1});
}

void add_permits(std::vector<telling>& all) {
    const words keys{"permits", "out"};
    const words five{"SET", "permits", "5"};
    const words over{"ZADD", "out", "1", "late", "2", "later"};
    const std::string owner = "of an owner 11";
    const words two{owner, "2", half_a_minute, "channel", verb};
    all.push_back(
        {"permits that come back", script_id::permits_acquire, {five, over}, keys, two, 1});
    all.push_back({"a release of permits",
                   script_id::permits_release,
                   {five, call_of(script_id::permits_acquire, keys, two)},
                   keys,
                   {"channel", verb, owner, "2"},
                   1});
    all.push_back({"a change",
                   script_id::semaphore_change,
                   {five},
                   {"permits", "once"},
                   {"60000", "channel", verb, "add", "3"},
                   1});
}

void add_fair_locks(std::vector<telling>& all) {
    const words keys{"lock", "line", "times", "wishes", "fence"};
    const auto asks = [&](const std::string& who) {
        return call_of(script_id::fair_acquire, keys, {who, half_a_minute, "900", "3000", "1"});
    };
    all.push_back({"a watched fair lock",
                   script_id::fair_acquire,
                   {},
                   keys,
                   {mine, half_a_minute, "900", "3000", "1", "channel:leader", verb},
                   1});
    const words release{mine, "channel:", verb};
    const std::vector<words> waited_for{asks(mine), asks(other)};
    all.push_back({"a fair lock passed on", script_id::fair_release, waited_for, keys, release, 2});
    words watched = release;
    watched.emplace_back("leader");
    all.push_back(
        {"a watched fair lock passed on", script_id::fair_release, waited_for, keys, watched, 3});
    all.push_back({"a watched fair lock that nobody waits for",
                   script_id::fair_release,
                   {asks(mine)},
                   keys,
                   watched,
                   1});
}

std::vector<telling> tellings() {
    std::vector<telling> all;
    add_mutexes(all);
    add_read_write_locks(all);
    add_permits(all);
    add_fair_locks(all);
    return all;
}

std::size_t occurrences(std::string_view text, std::string_view what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
        ++n;
    }
    return n;
}

class messages : public ::testing::TestWithParam<telling> {
protected:
    static void set_up(script_player& p) {
        for (words w : GetParam().before) {
            std::replace(w.begin(), w.end(), verb, std::string{"publish"});
            p.ask(w);
        }
    }
    /// Run by this verb, while all who may be told listen on the same connection.
    static std::string run(script_player& p, const std::string& how) {
        set_up(p);
        for (const std::string& channel :
             {std::string{"channel"}, "channel:" + other, std::string{"channel:leader"}}) {
            p.ask({"SUBSCRIBE", channel});
            p.ask({"SSUBSCRIBE", channel});
        }
        return p.ask(call_by(GetParam(), how));
    }
};

TEST_P(messages, go_where_the_verb_says_and_nowhere_else) {
    for (const bool sharded : {false, true}) {
        script_player p;
        const std::string heard = run(p, sharded ? "spublish" : "publish");
        const std::size_t n = GetParam().messages;
        EXPECT_EQ(occurrences(heard, "$8\r\nsmessage\r\n"), sharded ? n : 0) << heard;
        EXPECT_EQ(occurrences(heard, "$7\r\nmessage\r\n"), sharded ? 0 : n) << heard;
    }
}

TEST_P(messages, of_a_shard_fail_on_an_older_server_and_change_nothing_else) {
    script_player unheard;
    set_up(unheard);
    const std::string expected = unheard.ask(call_by(GetParam(), "spublish"));
    EXPECT_FALSE(expected.starts_with("-")) << expected;
    script_player old{{.sharded = false}};
    EXPECT_EQ(run(old, "spublish"), expected);
    EXPECT_EQ(old.server.dump(old.now_us), unheard.server.dump(unheard.now_us));
}

INSTANTIATE_TEST_SUITE_P(scripts, messages, ::testing::ValuesIn(tellings()));

}  // namespace
