// SPDX-License-Identifier: BSL-1.0
// The user that the page on operations makes: it is enough for `conch ls`, `conch who` and `conch
// top`, they send nothing else, and need each of its rights.
#include "integration/list_rights.hpp"
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <array>
#include <regex>

namespace {

using namespace conch;
using namespace conch::test;

class list_rights_test : public command_fixture {
protected:
    list_rights_test() {
        may_refuse = true;  // to load scripts
        raw.must(list_user_of_page());
    }
    std::string as_reader() const {
        std::string out = url();
        return out.replace(out.find("conch:"), 6, "conch-ls:");
    }
    /// Of each kind, and nobody who holds one sends anything.
    void put_all_kinds() {
        const std::string uuid = "5c1e0a8e-0000-4000-8000-00000000000";
        const std::string line_of_fair = "redisson_lock_queue:{fair}";
        take_as_stranger(raw, "mutex", 600s);
        raw.must({"SET", fence_key_of("mutex"), "7"});
        raw.must({"SET", "conch_wait:{mutex}:" + owner_of_redisson, "1 1 1 - mutex 1 0 4 fair"});
        take_as_stranger(raw, "fair", 600s);
        raw.must({"RPUSH", line_of_fair, uuid + "2:1", uuid + "3:1"});
        raw.must({"HSET", "rw", "mode", "read", uuid + "2:1", "1", uuid + "3:1", "1"});
        raw.must({"PEXPIRE", "rw", "600000"});
        raw.must({"SET", "permits", "2"});
        raw.must({"ZADD", "{permits}:timeout", "1", "ABCDEFGHIJKLMNOP", "99999999999999",
                  "abcdefghijklmnop"});
        raw.must({"SET", "plain", "0f3a9b1c2d4e5f60718293a4b5c6d7e8", "PX", "600000"});
        raw.must({"SET", "counter", "3"});
        EXPECT_EQ(to_end({"rate", "--limit", "1", "--per", "600", "rate", "true"}).status, 0);
    }
    /// What they write as that user; times are left out.
    std::string told() const {
        std::string out;
        const auto add = [&](const words& line) {
            const ended end = to_end(line, as_reader());
            out += "$ " + line.front() + ' ' + line.back() + '\n' + end.out;
        };
        add({"ls"});
        add({"ls", "--plain", "*"});
        for (const char* const name : names) {
            add({"who", name});
        }
        return std::regex_replace(out, std::regex{"[0-9]+(ms|s|m[0-9]+s|m|h|d)\\b"}, "TIME");
    }
    static constexpr std::array names{"mutex", "fair", "rw",      "permits",
                                      "plain", "rate", "counter", "nothing"};
};

TEST_F(list_rights_test, are_enough_for_each_kind) {
    put_all_kinds();
    const std::string text = told();
    for (const char* const line :
         {"\nmutex: mutex, locked\n", "\n  fence       7\n", "\n  waits for   fair for ",
          "\nfair: fair mutex, locked\n", "\n  waiting     2 in line\n              1. 5c1e0a8e-",
          "\nrw: read-write lock, read by 2\n", "\npermits: semaphore, 1 of 4 permits is out\n",
          "\nplain: plain lock, locked\n", "\n  waiting     none of conch; others may poll\n",
          "\nrate: rate limit, in use\n", "\ncounter: at 3: a counting semaphore",
          "\nnothing: free\n", "no connected conch client"}) {
        expect_in(line, text);
    }
    EXPECT_EQ(text.find("unknown: "), std::string::npos) << text;
    EXPECT_EQ(to_end({"ls"}, as_reader()).err, "");
    EXPECT_EQ(to_end({"release", "--force", "mutex"}, as_reader()).status, 69);
}

TEST_F(list_rights_test, are_all_that_is_used) {
    put_all_kinds();
    raw.reset_calls();
    told();
    std::set<std::string> sent = commands_sent(raw);
    EXPECT_EQ(sent.erase("hello"), 1u);
    sent.insert("ping");  // of a connection that has been idle for long
    EXPECT_EQ(sent, list_commands_of_page());
}

TEST_F(list_rights_test, are_each_needed) {
    put_all_kinds();
    const std::string all = told();
    std::set<std::string> rights = list_commands_of_page();
    rights.erase("ping");
    for (const std::string& right : rights) {
        raw.must({"ACL", "SETUSER", "conch-ls", '-' + right});
        EXPECT_NE(told(), all) << right;
        raw.must({"ACL", "SETUSER", "conch-ls", '+' + right});
    }
    EXPECT_EQ(told(), all);
}

TEST_F(list_rights_test, without_that_of_get_it_is_not_said_that_a_string_is_free) {
    put_all_kinds();
    raw.must({"ACL", "SETUSER", "conch-ls", "-get"});
    for (const char* const name : {"plain", "counter"}) {
        const ended end = to_end({"who", name}, as_reader());
        EXPECT_EQ(end.status, 69) << end.out;
        expect_one_line(end.err);
    }
    EXPECT_EQ(to_end({"ls", "--plain", "*"}, as_reader()).out, "");
    expect_in("\n  waiting     2 in line\n", to_end({"who", "fair"}, as_reader()).out);
    expect_in("semaphore, 1 permit is out\n", to_end({"who", "permits"}, as_reader()).out);
    EXPECT_EQ(to_end({"who", "mutex"}, as_reader()).out.find("fence  "), std::string::npos);
}

TEST_F(list_rights_test, without_that_of_pttl_it_is_not_said_that_a_lease_never_ends) {
    put_all_kinds();
    raw.must({"SET", "plain", owner_of_redisson, "PX", "600000"});
    raw.must({"ACL", "SETUSER", "conch-ls", "-pttl"});
    for (const char* const name : {"mutex", "fair", "rw", "plain"}) {
        const ended end = to_end({"who", name}, as_reader());
        EXPECT_EQ(end.status, 0) << end.err;
        expect_in("\n  lease       end unknown: the server refused to tell\n", end.out);
    }
    const ended list = to_end({"ls", "mutex"}, as_reader());
    expect_in(" LEASE ", list.out);
    EXPECT_EQ(list.out.find("none"), std::string::npos) << list.out;
    const ended counter = to_end({"who", "counter"}, as_reader());
    EXPECT_EQ(counter.status, 69) << counter.out;
    expect_in("\n  next        ends in ", to_end({"who", "permits"}, as_reader()).out);
}

// After ten seconds, so that it is known that the server is there.
TEST_F(list_rights_test, slow_allow_the_ping_of_an_idle_connection) {
    if (!terminal_session::possible()) {
        GTEST_SKIP() << "no pseudo-terminals here";
    }
    terminal_session t{conch({"top", "--interval", "60"}),
                       {{"CONCH_REDIS", as_reader()}, {"TERM", "xterm"}}};
    t.wait_for("0 locks");
    raw.reset_calls();
    EXPECT_TRUE(run_until(io, [&] { return raw.calls("ping") > 0; }));
    t.type("q");
    t.finish();
}

TEST_F(list_rights_test, tell_where_a_living_holder_is) {
    program holder{run_words({"--fenced"}, until_end_of_input), here()};
    holder.wait_for("in\n");
    const std::string process = ':' + std::to_string(holder.pid());
    expect_in(process, to_end({"ls"}, as_reader()).out);
    expect_in("by its fence", to_end({"who", "lock"}, as_reader()).out);
}

TEST_F(list_rights_test, are_enough_for_top) {
    if (!terminal_session::possible()) {
        GTEST_SKIP() << "no pseudo-terminals here";
    }
    take_as_stranger(raw, "lock");
    terminal_session t{conch({"top"}), {{"CONCH_REDIS", as_reader()}, {"TERM", "xterm"}}};
    t.wait_for("1 lock, 1 shown");
    t.type("\n");
    t.wait_for("lock: mutex, locked");
    t.type("q");
    t.finish();
    for (const std::string& what : raw.refused()) {
        EXPECT_TRUE(what == "info" || what.starts_with("script")) << what;  // of each connection
    }
}

}  // namespace
