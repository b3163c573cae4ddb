// SPDX-License-Identifier: BSL-1.0
// conch with several --redis: a lock on a majority of them.
#include "integration/quorum_fixture.hpp"
#include "support/command_fixture.hpp"

#include <chrono>

namespace {

using namespace conch;
using namespace conch::test;

class quorum_command_test : public command_fixture {
protected:
    quorum_command_test() {
        for (int i = 0; i < 3; ++i) {
            servers.push_back(std::make_unique<quorum_server>());
        }
    }

    /// conch COMMAND --redis URL --redis URL --redis URL OPTION... lock REST...
    words all_servers(const std::string& command, const words& options, const words& rest) const {
        words all = conch({command});
        for (const auto& s : servers) {
            all.insert(all.end(), {"--redis", s->url()});
        }
        all.insert(all.end(), options.begin(), options.end());
        all.push_back("lock");
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    }
    ended to_the_end(const words& line) const {
        program p{line, here()};
        return p.finish();
    }
    std::size_t locked() {
        std::size_t count = 0;
        for (const auto& s : servers) {
            count += s->redis.pid() > 0 && s->raw.exists("lock") ? 1u : 0u;
        }
        return count;
    }

    std::vector<std::unique_ptr<quorum_server>> servers{};
};

TEST_F(quorum_command_test, runs_a_command_while_a_majority_is_there) {
    servers[0]->kill();
    program p{all_servers("run", {}, until_end_of_input), here()};
    p.wait_for("in\n");
    EXPECT_EQ(locked(), 2u);
    EXPECT_EQ(to_the_end(all_servers("run", {"-n"}, {"true"})).status, 1);
    const ended status = to_the_end(all_servers("status", {}, {}));
    EXPECT_EQ(status.status, 0);
    expect_in("lock: mutex, locked\n", status.out);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    EXPECT_EQ(locked(), 0u);
}

TEST_F(quorum_command_test, at_least_keeps_it_on_each_server) {
    EXPECT_EQ(to_the_end(all_servers("run", {"--at-least", "300"}, {"true"})).status, 0);
    EXPECT_GE(locked(), 2u);
    for (const auto& s : servers) {
        EXPECT_LE(s->raw.pttl("lock"), 300'000);
        EXPECT_TRUE(!s->raw.exists("lock") || s->raw.pttl("lock") > 100'000);
    }
    EXPECT_EQ(to_the_end(all_servers("run", {"-n"}, {"true"})).status, 1);
}

TEST_F(quorum_command_test, the_environment_may_name_them_all) {
    std::string urls;
    for (const auto& s : servers) {
        urls += s->url() + "  ";
    }
    words line = run_words({}, until_end_of_input);
    program p{line, {{"CONCH_REDIS", urls}}};
    p.wait_for("in\n");
    EXPECT_TRUE(run_until(io, [&] { return locked() == 3; })) << "the third may answer later";
    EXPECT_EQ(to_end({"run", "-n", "lock", "true"}, urls).status, 1);
    expect_in("lock: mutex, locked\n", to_end({"status", "lock"}, urls).out);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    const ended one_only = to_end({"watch", "lock"}, urls);
    EXPECT_EQ(one_only.status, 64);
    expect_in("\"conch watch\" takes one server", one_only.err);
    const std::string twice = servers[0]->redis.url();
    const ended e = to_end({"status", "lock"}, twice + ' ' + twice);
    EXPECT_EQ(e.status, 64);
    expect_in("$CONCH_REDIS", e.err);
}

TEST_F(quorum_command_test, a_majority_that_dies_ends_the_command_before_the_lease) {
    const words told{"bash", "-c", "trap 'date +%s%N; exit 9' TERM; echo in; read x"};
    program p{all_servers("run", {"--lease", "3", "-w", "60", "--max-hold", "600"}, told), here()};
    p.wait_for("in\n");
    servers[0]->kill();
    servers[2]->kill();
    const auto killed = std::chrono::system_clock::now().time_since_epoch();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 9", end.err);
    ASSERT_GT(end.out.size(), 4u);
    EXPECT_LT(std::chrono::nanoseconds{std::stoll(end.out.substr(3))} - killed, 3s);
}

/// Two of the three servers are killed, or say nothing more.
class lost_majority_test : public quorum_command_test, public ::testing::WithParamInterface<bool> {
protected:
    void lose(std::size_t i) {
        if (GetParam()) {
            servers[i]->kill();
        } else {
            servers[i]->redis.freeze();
        }
    }
};

TEST_P(lost_majority_test, gives_a_stubborn_command_its_grace_and_kills_it_by_the_leases_end) {
    program p{all_servers("run", {"--lease", "4", "--grace", "1.5"}, heartbeats), here()};
    p.wait_for("\n");
    lose(0);
    lose(2);
    const std::int64_t lost = wall_time();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 75);
    expect_in("ended with status 137", end.err);
    const auto term = end.out.find("term\n");
    ASSERT_NE(term, std::string::npos) << end.out;
    const std::int64_t told = std::stoll(end.out.substr(term + 5));
    const std::int64_t last = last_number(end.out);
    EXPECT_GT(told, lost + 500'000'000) << "the lease goes on, for two thirds of it at least";
    EXPECT_LT(last, lost + 4'000'000'000);
    EXPECT_GT(last, told + 750'000'000);  // the default would be two thirds of a second
    EXPECT_LT(last, told + 1'500'000'000);
}

INSTANTIATE_TEST_SUITE_P(servers, lost_majority_test, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "killed" : "frozen"; });

TEST_F(quorum_command_test, without_a_majority_there_is_no_lock) {
    servers[0]->kill();
    servers[2]->kill();
    const ended e = to_the_end(all_servers("run", {"--connect-timeout", "0.5"}, {"echo", "no"}));
    EXPECT_EQ(e.status, 69);
    EXPECT_EQ(e.out, "");
    expect_in(servers[2]->redis.url(), e.err);
}

TEST_F(quorum_command_test, what_each_server_said_last_is_told_with_its_name) {
    servers[0]->kill();
    servers[2]->kill();
    const ended e = to_the_end(all_servers("run", {"--connect-timeout", "0.5"}, {"echo", "no"}));
    const auto said_by = [&](std::size_t i) {
        return servers[i]->redis.url() + ": Connection refused";
    };
    expect_in(said_by(0), e.err);
    expect_in(said_by(2), e.err);
    EXPECT_EQ(e.err.find(said_by(1)), e.err.npos) << e.err;
}

TEST_F(quorum_command_test, a_forced_release_is_that_of_all_servers_and_ends_the_command) {
    program p{all_servers("run", {"--lease", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    const ended released = to_the_end(all_servers("release", {"--force"}, {}));
    EXPECT_EQ(released.status, 0);
    EXPECT_EQ(p.finish().status, 75);
    EXPECT_EQ(to_the_end(all_servers("release", {"--force"}, {})).status, 1);
}

TEST_F(quorum_command_test, what_a_quorum_can_not_do_is_a_wrong_command_line) {
    EXPECT_EQ(to_the_end(all_servers("run", {"--plain"}, {"true"})).status, 64);
    EXPECT_EQ(to_the_end(all_servers("run", {"--fenced"}, {"true"})).status, 64);
    EXPECT_EQ(to_the_end(all_servers("watch", {}, {})).status, 64);
    EXPECT_EQ(to_the_end(all_servers("rate", {"--limit", "1", "--per", "1"}, {"true"})).status, 64);
    const std::string twice = servers[0]->redis.url();
    const ended e = to_end({"status", "--redis", twice, "--redis", twice, "lock"});
    EXPECT_EQ(e.status, 64);
    expect_in("twice", e.err);
    const ended two = to_end({"status", "--redis", twice, "--redis", twice + "?db=1", "lock"});
    EXPECT_EQ(two.status, 64) << "two databases are lost together";
}

}  // namespace
