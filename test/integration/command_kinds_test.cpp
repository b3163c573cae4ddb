// SPDX-License-Identifier: BSL-1.0
// `conch hold`, `conch watch` and `conch release`: each kind of lock, and all its holders.
#include "support/command_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

struct kind_row {
    const char* kind;  ///< as it is told; the name of the lock too
    words taken;       ///< the options of its first holder
    const char* asked;
};

const kind_row readers{"rw read", {"--shared"}, "--rw"};
const kind_row two_permits{"semaphore", {"--at-most", "2"}, "--semaphore"};

const std::vector<kind_row> kinds{{"fair", {"--fair"}, "--fair"},
                                  {"rw read", {"--shared"}, "--rw"},
                                  {"rw write", {"--rw"}, "--rw"},
                                  {"semaphore", {"--at-most", "1"}, "--semaphore"},
                                  {"plain", {"--plain"}, "--plain"}};

class kinds_command_test : public command_fixture {
protected:
    static words conch_of(words all, const words& options, const std::string& name) {
        all.insert(all.end(), options.begin(), options.end());
        all.emplace_back(name);
        return conch(all);
    }
    static words run_of(const words& options, const std::string& name) {
        words all = conch_of({"run"}, options, name);
        all.insert(all.end(), until_end_of_input.begin(), until_end_of_input.end());
        return all;
    }
    /// As a shell's: it is the shell that gets SIGTERM before a loss, not this process.
    static words hold_of(const words& options, const std::string& name) {
        words all{"/bin/sh", "-c", "\"$@\"; exit $?", "sh"};
        const words hold = conch_of({"hold"}, options, name);
        all.insert(all.end(), hold.begin(), hold.end());
        return all;
    }
    boost::json::object told(const words& command) const {
        const ended end = to_end(command);
        EXPECT_EQ(end.status, 0) << end.err;
        expect_one_line(end.out);
        return boost::json::parse(end.out).as_object();
    }
    boost::json::object watched(const kind_row& k) const {
        return told({"watch", "--json", "--count", "1", k.asked, k.kind});
    }
    static words holders_in(const boost::json::object& o) {
        words all;
        for (const auto& one : o.at("holders").as_array()) {
            all.emplace_back(one.at("holder").as_string());
        }
        return all;
    }
};

TEST_F(kinds_command_test, hold_takes_and_watch_tells_each) {
    for (const kind_row& k : kinds) {
        SCOPED_TRACE(k.kind);
        const std::string held = "held " + std::string{k.kind} + '\n';
        program holder{hold_of(k.taken, k.kind), here()};
        holder.wait_for(held);
        program waiter{hold_of({k.asked}, k.kind), here()};
        if (std::string_view{k.kind} != "plain") {  // `who` goes by the keys, not by an option
            EXPECT_TRUE(run_until(
                io, [&] { return told({"who", "--json", k.kind}).at("kind") == k.kind; }));
        }
        const auto seen = watched(k);
        EXPECT_EQ(seen.at("kind"), k.kind);
        EXPECT_EQ(holders_in(seen).size(), 1u);
        holder.end_input();
        EXPECT_EQ(holder.finish().status, 0);
        waiter.wait_for(held);
        EXPECT_NE(holders_in(watched(k)), holders_in(seen));
        waiter.end_input();
        EXPECT_EQ(waiter.finish().status, 0);
    }
}

TEST_F(kinds_command_test, hold_takes_several_of_one_kind_or_none) {
    std::vector<kind_row> all{{"mutex", {}, "--fair"}};
    std::copy_if(kinds.begin(), kinds.end(), std::back_inserter(all),
                 [](const kind_row& k) { return std::string_view{k.kind} != "semaphore"; });
    for (const kind_row& k : all) {
        SCOPED_TRACE(k.kind);
        words options = k.taken;
        options.insert(options.end(), {"-l", "other", "--lock", "third"});
        program holder{hold_of(options, "lock"), here()};
        holder.wait_for("held lock, other, third\n");
        for (const char* const key : {"lock", "other", "third"}) {
            EXPECT_TRUE(raw.exists(key)) << key;
        }
        program hasty{hold_of({k.asked, "-n", "-l", "third"}, "free"), here()};
        EXPECT_EQ(hasty.finish().status, 1);
        EXPECT_EQ(hasty.finish().out, "");
        expect_in("\"free, third\"", hasty.finish().err);
        EXPECT_FALSE(raw.exists("free"));
        holder.end_input();
        EXPECT_EQ(holder.finish().status, 0) << holder.finish().err;
        expect_free();
    }
}

TEST_F(kinds_command_test, release_takes_each_away_and_tells_it) {
    std::deque<program> all;  // at once: each hears of it with its next renewal
    for (const kind_row& k : kinds) {
        SCOPED_TRACE(k.kind);
        words options = k.taken;
        options.insert(options.end(), {"--lease", "6"});
        all.emplace_back(run_of(options, k.kind), here()).wait_for("in\n");
        const words before = holders_in(watched(k));
        ASSERT_EQ(before.size(), 1u);
        const ended end = to_end({"release", "--force", k.asked, k.kind});
        EXPECT_EQ(end.status, 0) << end.err;
        expect_in(": released; before: " + std::string{k.kind} + ", ", end.out);
        expect_in(before[0], end.out);
        EXPECT_EQ(to_end({"release", "--force", k.asked, k.kind}).status, 1);
    }
    for (program& p : all) {
        EXPECT_EQ(p.finish().status, 75) << p.finish().err;
    }
}

TEST_F(kinds_command_test, status_tells_each) {
    const std::pair<const char*, const char*> lines[]{{"fair", "fair mutex, locked"},
                                                      {"rw read", "read-write lock, read by 1"},
                                                      {"rw write", "read-write lock, written"},
                                                      {"semaphore", "semaphore, 1 of 1 permit "},
                                                      {"plain", "plain lock, locked"}};
    for (const kind_row& k : kinds) {
        SCOPED_TRACE(k.kind);
        program holder{run_of(k.taken, k.kind), here()};
        holder.wait_for("in\n");
        const auto told_line = std::find_if(std::begin(lines), std::end(lines), [&](const auto& l) {
            return std::string_view{l.first} == k.kind;
        });
        expect_in(std::string{k.kind} + ": " + told_line->second,
                  to_end({"status", k.asked, k.kind}).out);
        EXPECT_EQ(told({"status", "--json", k.asked, k.kind}).at("kind"), k.kind);
        holder.end_input();
        holder.finish();
    }
}

// Asked for by its name alone, too: two holders of each that can have them.
TEST_F(kinds_command_test, status_tells_all_holders_whether_asked_for_the_kind_or_not) {
    const std::pair<kind_row, const char*> rows[]{{readers, ": read-write lock, read by 2\n"},
                                                  {two_permits, ": semaphore, 2 of 2 permits"}};
    for (const auto& [k, line] : rows) {
        SCOPED_TRACE(k.kind);
        program one{run_of(k.taken, k.kind), here()};
        one.wait_for("in\n");
        program two{run_of(k.taken, k.kind), here()};
        two.wait_for("in\n");
        const words both = holders_in(watched(k));
        EXPECT_EQ(both.size(), 2u);
        for (const words& asked : {words{k.kind}, words{k.asked, k.kind}}) {
            words text{"status"};
            text.insert(text.end(), asked.begin(), asked.end());
            const ended end = to_end(text);
            EXPECT_EQ(end.status, 0) << end.err;
            expect_in(k.kind + std::string{line}, end.out);
            for (const std::string& holder : both) {
                expect_in(holder, end.out);
            }
            text.emplace_back("--json");
            const auto o = told(text);
            EXPECT_EQ(o.at("kind"), k.kind);
            words seen = holders_in(o);
            std::sort(seen.begin(), seen.end());
            words expected = both;
            std::sort(expected.begin(), expected.end());
            EXPECT_EQ(seen, expected);
        }
    }
}

TEST_F(kinds_command_test, status_knows_a_fair_lock_by_its_line) {
    program holder{run_of({"--fair"}, "lock"), here()};
    holder.wait_for("in\n");
    expect_in("lock: mutex, locked\n", to_end({"status", "lock"}).out);
    program waiter{run_of({"--fair"}, "lock"), here()};
    EXPECT_TRUE(run_until(
        io, [&] { return raw.must({"LLEN", "redisson_lock_queue:{lock}"}).number == 1; }));
    const std::string text = to_end({"status", "lock"}).out;
    expect_in("lock: fair mutex, locked\n", text);
    expect_in("  waiting 1 client\n", text);
    const boost::json::object json = told({"status", "--json", "lock"});
    EXPECT_EQ(json.at("kind"), "fair");
    EXPECT_EQ(json.at("waiting"), 1);
    holder.end_input();
    waiter.wait_for("in\n");
    waiter.end_input();
    EXPECT_EQ(waiter.finish().status, 0);
}

TEST_F(kinds_command_test, watch_and_release_tell_all_holders) {
    for (const kind_row& k : {readers, two_permits}) {
        SCOPED_TRACE(k.kind);
        program one{run_of(k.taken, k.kind), here()};
        one.wait_for("in\n");
        program two{run_of(k.taken, k.kind), here()};
        two.wait_for("in\n");
        const words both = holders_in(watched(k));
        EXPECT_EQ(both.size(), 2u);
        const ended watch = to_end({"watch", "--count", "1", k.asked, k.kind});
        const ended release = to_end({"release", "--force", k.asked, k.kind});
        for (const std::string& holder : both) {
            expect_in(holder, watch.out);
            expect_in(holder, release.out);
        }
    }
}

}  // namespace
