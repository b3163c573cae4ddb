// SPDX-License-Identifier: BSL-1.0
// `conch who`: the connections of who holds and who waits, and what a release by force would do.
#include "support/command_fixture.hpp"
#include "support/scripted_peer.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <deque>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

namespace {

using namespace conch;
using namespace conch::test;

/// A client as CLIENT LIST tells it.
struct connected_client {
    std::string name{};
    std::string address{};
    std::int64_t age_s = -1;
    std::int64_t idle_s = -1;
};

class who_command_test : public command_fixture {
protected:
    static words run_of(const words& options, const std::string& name) {
        words all = conch({"run"});
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {name, "--"});
        all.insert(all.end(), until_end_of_input.begin(), until_end_of_input.end());
        return all;
    }
    connected_client client_of(pid_t pid) {
        std::istringstream lines{raw.must({"CLIENT", "LIST"}).text};
        const std::regex form{R"(addr=(\S+) .*name=(conch:\S*:(\d+):\w{8}) age=(\d+) idle=(\d+) )"};
        connected_client found;
        for (std::string line; std::getline(lines, line);) {
            std::smatch m;
            if (std::regex_search(line, m, form) && std::stoi(m[3]) == pid) {
                found = {m[2], m[1], std::stoll(m[4]), std::stoll(m[5])};
            }
        }
        return found;
    }
    static void expect_match(const std::string& form, const std::string& text) {
        EXPECT_TRUE(std::regex_search(text, std::regex{form})) << form << "\nis not in: " << text;
    }
    static void expect_place(const connected_client& c, pid_t pid, const boost::json::value& told) {
        EXPECT_EQ(told.at("pid").as_int64(), pid);
        EXPECT_EQ(told.at("connection").as_string(), c.name);
        EXPECT_EQ(told.at("address").as_string(), c.address);
        EXPECT_GE(told.at("connected_s").as_int64(), c.age_s);
        EXPECT_GE(told.at("idle_s").as_int64(), 0);
        EXPECT_LE(told.at("idle_s").as_int64(), told.at("connected_s").as_int64());
    }
    /// Runs the command that was shown, in a shell that knows nothing of a server, or another one.
    /// Somebody puts the password in.
    void obey_text(const std::string& shown, const std::string& other_url = "") const {
        std::smatch m;
        const std::regex form{
            "\n  by force    \"((CONCH_REDIS=.* )?conch release --force .*)\" takes "};
        if (!std::regex_search(shown, m, form)) {
            ADD_FAILURE() << shown;
            return;
        }
        const std::string command = std::regex_replace(m[1].str(), std::regex{":PASSWORD@"},
                                                       ':' + std::string{conch_password} + '@');
        const std::string link = folder.path() + "/conch";
        if (!std::filesystem::is_symlink(link)) {
            std::filesystem::create_symlink(CONCH_PROGRAM_PATH, link);
        }
        program shell{{"/bin/sh", "-c", command},
                      {{"CONCH_REDIS", other_url}, {"PATH", folder.path() + ":/usr/bin:/bin"}}};
        const ended& end = shell.finish();
        EXPECT_EQ(end.status, 0) << end.err;
        expect_in(": released", end.out);
    }
    /// The same, of what `conch who NAME` shows; returns what `who` wrote.
    std::string obey(const std::string& name) const {
        const ended who = to_end({"who", "--", name});
        EXPECT_EQ(who.err, "");
        EXPECT_EQ(who.out.find(conch_password), std::string::npos) << who.out;
        obey_text(who.out);
        return who.out;
    }
    /// The command that it shows frees the lock of so many holders, and they hear of it.
    void expect_freed(const words& options, const std::string& name, const std::string& what,
                      int so_many = 1) {
        SCOPED_TRACE(what);
        std::deque<program> holders;
        for (int i = 0; i < so_many; ++i) {
            words all{"--lease", "3"};
            all.insert(all.end(), options.begin(), options.end());
            holders.emplace_back(run_of(all, name), here());
            holders.back().wait_for("in\n");
        }
        const std::string told = obey(name);
        expect_in(what + ", who may be at work:\n", told);
        const bool fenced = std::find(options.begin(), options.end(), "--fenced") != options.end();
        expect_in(fenced ? "\n              the next holder gets a greater fence\n"
                         : "\n              it has no fence, so nothing else stops that work\n",
                  told);
        expect_in("a conch client hears of it when it next renews, within a third of its lease\n",
                  told);
        const ended after = to_end({"who", name});
        EXPECT_EQ(after.out.find("by force"), std::string::npos) << after.out;
        for (program& holder : holders) {
            const ended& end = holder.finish();
            EXPECT_EQ(end.status, 75);
            expect_in("was lost", end.err);
        }
    }
};

TEST_F(who_command_test, tells_the_connection_of_the_holder_and_of_each_in_line_in_order) {
    std::deque<program> all;
    for (const std::string service : {"billing", "mails", "shop"}) {
        all.emplace_back(run_of({"--fair", "--lease", "600", "--service", service}, "till"),
                         here());
        const auto before = static_cast<std::int64_t>(all.size()) - 1;
        ASSERT_TRUE(run_until(io, [&] {
            return before == 0 ? raw.exists("till")
                               : raw.must({"LLEN", "redisson_lock_queue:{till}"}).number == before;
        }));
    }
    // Longer than a second ago, to be told apart from nothing.
    ASSERT_TRUE(run_until(io, [&] {
        return client_of(all[0].pid()).idle_s > 0 && client_of(all[2].pid()).age_s > 0;
    }));
    std::vector<connected_client> clients;
    for (const program& p : all) {
        clients.push_back(client_of(p.pid()));
    }
    const std::string json = to_end({"who", "--json", "till"}).out;
    const std::string text = to_end({"who", "till"}).out;
    const boost::json::object o = boost::json::parse(json).as_object();
    expect_place(clients[0], all[0].pid(), o.at("holders").as_array().at(0));
    ASSERT_EQ(o.at("line").as_array().size(), 2u);
    expect_place(clients[1], all[1].pid(), o.at("line").as_array()[0]);
    expect_place(clients[2], all[2].pid(), o.at("line").as_array()[1]);
    const std::string times =
        ", connected for (less than 1s|[0-9]+s), idle for (less than 1s|[0-9]+s)\n";
    const auto process = [&](std::size_t i, const std::string& service) {
        return "process " + std::to_string(all[i].pid()) + " on [^\n]*, service " + service + "\n";
    };
    expect_match("\n  holder      \\S+\n {14}" + process(0, "billing") + "  connection  " +
                     clients[0].name + times,
                 text);
    expect_match("\n  waiting     2 in line\n {14}1\\. \\S+\n {17}" + process(1, "mails") +
                     " {17}" + clients[1].name + times + " {14}2\\. \\S+\n {17}" +
                     process(2, "shop") + " {17}" + clients[2].name + times,
                 text);
}

TEST_F(who_command_test, tells_the_connection_of_each_of_several_holders) {
    for (const words& options : {words{"--shared"}, words{"--at-most", "3"}}) {
        SCOPED_TRACE(options[0]);
        const std::string name = "lock" + options[0];
        std::deque<program> all;
        for (int i = 0; i < 3; ++i) {
            all.emplace_back(run_of(options, name), here());
            all.back().wait_for("in\n");
        }
        std::map<pid_t, connected_client> clients;
        for (const program& p : all) {
            clients[p.pid()] = client_of(p.pid());
        }
        const boost::json::value o = boost::json::parse(to_end({"who", "--json", name}).out);
        const boost::json::array& holders = o.at("holders").as_array();
        ASSERT_EQ(holders.size(), all.size());
        for (const boost::json::value& told : holders) {
            const auto pid = static_cast<pid_t>(told.at("pid").as_int64());
            ASSERT_EQ(clients.count(pid), 1u) << pid << " is told twice, or is no holder";
            expect_place(clients.at(pid), pid, told);
            clients.erase(pid);
        }
    }
}

TEST_F(who_command_test, shows_what_frees_a_lock_of_each_kind) {
    expect_freed({}, "lock", "takes it from this holder");
    expect_freed({"--fair"}, "till", "takes it from this holder");
    expect_freed({"--rw"}, "prices", "takes it from this holder");
    expect_freed({"--shared"}, "prices", "takes it from all readers", 2);
    expect_freed({"--at-most", "3"}, "crawler", "takes these permits from their holders", 2);
}

TEST_F(who_command_test, shows_it_of_a_plain_lock) {
    expect_freed({"--plain"}, "job", "takes it from this holder");
}

TEST_F(who_command_test, shows_it_so_that_a_shell_understands_it) {
    for (const char* const name : {"orders of 7", "it's $HOME; `x` *"}) {
        expect_freed({}, name, "takes it from this holder");
    }
    for (const char* const name : {"-n", "--fair"}) {
        take_as_stranger(raw, name);
        obey(name);
        EXPECT_FALSE(raw.exists(name));
    }
}

TEST_F(who_command_test, shows_what_frees_it_at_the_server_that_was_asked) {
    const cli::private_redis asked;
    raw_client there{asked.socket_path()};
    for (const words& line : {words{"who"}, words{"status"}}) {
        const char* const kind = line[0] == "status" ? "--plain" : "";
        SCOPED_TRACE(line[0]);
        program holder{conch({"run", "--redis", asked.url(), *kind ? "--plain" : "--fenced", "lock",
                              "--", "sh", "-c", "echo in; exec cat"})};
        holder.wait_for("in\n");
        const ended by_option = to_end({line[0], "--redis", asked.url(), "lock"}, url());
        expect_in("\"conch release --force --redis " + asked.url() + ' ', by_option.out);
        const ended by_variable = to_end({line[0], "lock"}, asked.url());
        EXPECT_EQ(by_variable.out.substr(by_variable.out.find("by force")),
                  by_option.out.substr(by_option.out.find("by force")));
        obey_text(by_option.out, url());
        EXPECT_FALSE(there.exists("lock"));
    }
}

/// A server where the lock is released once its type was told, `releases` times; then nobody has
/// it, or a key of no lock is there.
class passing_lock {
public:
    passing_lock(int releases, std::string then) : left_{releases}, then_{std::move(then)} {}
    std::string url() const { return "unix://" + peer_.socket_path(); }

private:
    reaction react(std::size_t n, const words& w) {
        const std::string what = w.empty() ? "" : canned_redis::upper(w[0]);
        if (what == "TYPE") {
            const bool is_lock = w[1] == "lock";
            return {'+' + (is_lock ? left_-- > 0 ? "hash" : then_ : std::string{"none"}) + "\r\n"};
        }
        return what == "HSCAN"  ? reaction{"*2\r\n$1\r\n0\r\n*0\r\n"}
               : what == "TIME" ? reaction{"*2\r\n$10\r\n1795730056\r\n$1\r\n0\r\n"}
                                : redis_.answer(n, w);
    }

    int left_;
    const std::string then_;
    canned_redis redis_{};
    scripted_peer peer_{[this](std::size_t n, const words& w) { return react(n, w); }};
};

TEST_F(who_command_test, a_lock_that_is_released_while_it_is_looked_at_is_free) {
    for (const int releases : {1, 2}) {
        const passing_lock released{releases, "none"};
        const ended end = to_end({"who", "lock"}, released.url());
        EXPECT_EQ(end.out, "lock: free\n") << end.err;
        EXPECT_EQ(end.status, 1);
    }
    const passing_lock stranger{1, "hash"};
    EXPECT_EQ(to_end({"who", "lock"}, stranger.url()).status, 69);
}

TEST_F(who_command_test, the_next_holder_has_a_greater_fence) {
    expect_freed({"--fenced"}, "lock", "takes it from this holder");
    const std::int64_t before = std::stoll(raw.must({"GET", fence_key_of("lock")}).text);
    program next{conch({"run", "--fenced", "lock", "--", "sh", "-c", "echo $CONCH_FENCE"}), here()};
    EXPECT_GT(std::stoll(next.finish().out), before);
}

}  // namespace
