// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_COMMAND_TOPOLOGY_HPP
#define CONCH_TEST_DEPLOYMENT_COMMAND_TOPOLOGY_HPP

#include "support/program.hpp"
#include "support/rights.hpp"
#include "support/server_version.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <string>
#include <vector>

namespace conch::test {

/// The command, against servers of which it knows nothing but the URL.
class command_topology : public testing::Test {
protected:
    using words = std::vector<std::string>;

    program::environment here() const { return {{"CONCH_REDIS", url}}; }
    static words conch(words arguments) {
        arguments.insert(arguments.begin(), CONCH_PROGRAM_PATH);
        return arguments;
    }
    ended to_end(const words& arguments) const {
        program p{conch(arguments), here()};
        return p.finish();
    }
    static std::string with_user(std::string address) {
        const std::string user = std::string{conch_user} + ':' + std::string{conch_password} + '@';
        return address.insert(address.find("://") + 3, user);
    }
    static std::string with_query(std::string address, const std::string& more) {
        return address + (address.find('?') == address.npos ? '?' : '&') + more;
    }
    /// What a URL says for sentinels that know the servers' user.
    static std::string user_of_sentinels() {
        return "sentinel_user=" + std::string{conch_user} +
               "&sentinel_password=" + std::string{conch_password};
    }
    bool is_free() const { return to_end({"status", "lock"}).out == "lock: free\n"; }

    void expect_all_commands() const {
        expect_runs_in_turn();
        expect_a_forced_release();
        expect_a_limited_rate();
        expect_a_watch();
        expect_a_demo();
    }
    /// For "lock"; `conch status` tells that it does, where it is asked with these options.
    void expect_one_waits(const words& asked = {}) const {
        if (server_is_before(7)) {
            return;  // each node of a cluster tells its own listeners alone
        }
        words question{"status"};
        question.insert(question.end(), asked.begin(), asked.end());
        question.emplace_back("lock");
        const auto deadline = std::chrono::steady_clock::now() + program::patience;
        std::string status;
        do {
            status = to_end(question).out;
        } while (status.find("\n  waiting 1 client\n") == status.npos &&
                 std::chrono::steady_clock::now() < deadline);
        const std::string list = to_end({"ls", "--json", "lock"}).out;
        EXPECT_TRUE(std::regex_search(list, std::regex{"\"waiting\":1[,}]"})) << list << status;
        const std::string who = to_end({"who", "lock"}).out;
        EXPECT_TRUE(std::regex_search(who, std::regex{"\n  waiting     1 (client|in line)\n"}))
            << who;
    }

    std::string url{};

private:
    void expect_runs_in_turn() const {
        program holder{conch({"run", "lock", "--", "sh", "-c", "echo in; exec cat"}), here()};
        holder.wait_for("in\n");
        const ended status = to_end({"status", "lock"});
        EXPECT_TRUE(status.out.starts_with("lock: mutex, locked\n"))
            << testing::PrintToString(status);
        expect_a_list(holder.pid());
        const ended other = to_end({"run", "--wait", "0", "lock", "--", "echo", "ran"});
        EXPECT_EQ(other.status, 1) << testing::PrintToString(other);
        EXPECT_EQ(other.out, "");
        program waiter{conch({"run", "lock", "--", "echo", "next"}), here()};
        expect_one_waits();
        holder.end_input();
        EXPECT_EQ(holder.finish().status, 0) << testing::PrintToString(holder.finish());
        EXPECT_EQ(waiter.finish().out, "next\n") << testing::PrintToString(waiter.finish());
        EXPECT_TRUE(is_free());
    }
    /// Locks of any name, so of any master, are listed, and their holder is known.
    void expect_a_list(pid_t of_lock) const {
        const words more{"a", "b", "c", "d", "e"};
        program many{conch({"run", "-l", "a", "-l", "b", "-l", "c", "-l", "d", "e", "--", "sh",
                            "-c", "echo in; exec cat"}),
                     here()};
        many.wait_for("in\n");
        const ended list = to_end({"ls"});
        EXPECT_EQ(list.status, 0) << testing::PrintToString(list);
        EXPECT_EQ(list.err, "");
        for (const std::string& name : more) {
            const std::regex line{"\n" + name + " +mutex +[^ ]+:" + std::to_string(many.pid())};
            EXPECT_TRUE(std::regex_search(list.out, line)) << list.out;
        }
        const ended who = to_end({"who", "lock"});
        EXPECT_NE(who.out.find("process " + std::to_string(of_lock) + " on "), who.out.npos)
            << testing::PrintToString(who);
        many.end_input();
        EXPECT_EQ(many.finish().status, 0) << testing::PrintToString(many.finish());
    }
    void expect_a_forced_release() const {
        program robbed{conch({"run", "lock", "--", "sh", "-c", "echo in; exec cat"}), here()};
        robbed.wait_for("in\n");
        EXPECT_EQ(to_end({"release", "--force", "lock"}).status, 0);
        EXPECT_EQ(robbed.finish().status, 75) << testing::PrintToString(robbed.finish());
        EXPECT_TRUE(is_free());
    }
    void expect_a_limited_rate() const {
        const words rate{"rate", "--limit", "1", "--per", "60", "jobs", "--", "echo", "ran"};
        EXPECT_EQ(to_end(rate).out, "ran\n");
        const ended second = to_end(
            {"rate", "--limit", "1", "--per", "60", "--wait", "0", "jobs", "--", "echo", "ran"});
        EXPECT_EQ(second.status, 1) << testing::PrintToString(second);
        EXPECT_EQ(second.out, "");
    }
    void expect_a_watch() const {
        program watcher{conch({"watch", "--count", "3", "lock"}), here()};
        watcher.wait_for("lock: free\n");
        program holder{conch({"run", "lock", "--", "sh", "-c", "echo in; exec cat"}), here()};
        holder.wait_for("in\n");
        watcher.wait_for("lock: mutex, held by ");
        holder.end_input();
        const ended& end = watcher.finish();
        EXPECT_EQ(end.status, 0) << testing::PrintToString(end);
        EXPECT_NE(end.out.find("lock: free (before: "), end.out.npos) << end.out;
        EXPECT_EQ(holder.finish().status, 0) << testing::PrintToString(holder.finish());
    }
    void expect_a_demo() const {
        const ended end = to_end(
            {"demo", "--redis", url, "--processes", "2", "--coroutines", "3", "--seconds", "0.5"});
        EXPECT_EQ(end.status, 0) << testing::PrintToString(end);
        EXPECT_EQ(end.out.find("a private redis-server"), end.out.npos) << end.out;
        EXPECT_EQ(end.out.find(conch_password), end.out.npos) << end.out;
        const std::regex none_lost{"\n  lost updates +0 "};
        const std::regex some_got_it{"\n  acquisitions +[1-9]"};
        EXPECT_TRUE(std::regex_search(end.out, none_lost)) << end.out;
        EXPECT_TRUE(std::regex_search(end.out, some_got_it)) << end.out;
    }
};

}  // namespace conch::test

#endif
