// SPDX-License-Identifier: BSL-1.0
// What the commands say when it goes wrong: which lock, which server, which option; never a
// password, and nothing of C++.
#include "support/command_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

using message_command_test = command_fixture;

void expect_not_in(const std::string& part, const std::string& text) {
    EXPECT_EQ(text.find(part), std::string::npos) << '"' << part << "\" is in: " << text;
}

TEST_F(message_command_test, quiet_says_nothing_of_a_busy_lock) {
    take_as_stranger(raw, "lock");
    for (const words& options :
         {words{"-q", "-n"}, words{"-nq"}, words{"--quiet", "-w", "0.1"}, words{"-qnE", "9"}}) {
        const ended end = run_to_end(options, {"echo", "ran"});
        EXPECT_EQ(end.status, options.back() == "9" ? 9 : 1) << ::testing::PrintToString(options);
        EXPECT_EQ(end.out, "");
        EXPECT_EQ(end.err, "");
    }
}

TEST_F(message_command_test, quiet_hides_no_other_error) {
    expect_one_line(to_end({"run", "-q", "lock", "true"}, nowhere()).err);
    expect_one_line(to_end({"run", "-q", "lock"}).err);
    expect_one_line(run_to_end({"-q"}, {folder.path() + "/none"}).err);
    raw.must({"SET", "lock", "no lock"});
    expect_one_line(run_to_end({"-q", "-n"}, {"true"}).err);
}

TEST_F(message_command_test, quiet_hides_no_loss) {
    program p{run_words({"-q", "--lease", "1"}, until_end_of_input), here()};
    p.wait_for("in\n");
    raw.must({"DEL", "lock"});
    EXPECT_EQ(p.finish().status, 75);
    expect_one_line(p.finish().err);
}

TEST_F(message_command_test, quiet_and_verbose_exclude_each_other) {
    const ended end = run_to_end({"-q", "-v"}, {"true"});
    EXPECT_EQ(end.status, 64);
    expect_in("--verbose and --quiet exclude each other", end.err);
}

TEST_F(message_command_test, an_empty_name_is_called_empty) {
    const std::vector<words> all{{"run", "", "true"},
                                 {"run", "-n", "", "true"},
                                 {"run", "--", "", "true"},
                                 {"run", ""},
                                 {"run", "", "-c", "true"},
                                 {"run", "-c", "true", ""},
                                 {"status", ""},
                                 {"status", "--json", ""},
                                 {"watch", ""},
                                 {"watch", "--", ""},
                                 {"watch", "--count=1", ""},
                                 {"release", ""},
                                 {"release", "--force", ""}};
    for (const words& w : all) {
        const ended end = to_end(w);
        EXPECT_EQ(end.status, 64) << ::testing::PrintToString(w);
        EXPECT_EQ(end.out, "");
        expect_one_line(end.err);
        expect_in("conch " + w.front() + ": the lock's NAME is empty", end.err);
    }
}

TEST_F(message_command_test, a_missing_name_is_called_missing) {
    for (const char* command : {"run", "status", "watch", "release"}) {
        expect_in("the lock's NAME", to_end({command}).err);
        expect_in("missing", to_end({command}).err);
    }
}

TEST_F(message_command_test, a_bad_url_is_told_with_its_option_and_what_to_write) {
    for (const char* command : {"run", "status", "watch", "release"}) {
        words line{command, "--redis", "redis://me:s3cret@example.org:99999/1"};
        line.insert(line.end(), std::string{command} == "release" ? 1 : 0, "--force");
        line.insert(line.end(), {"lock"});
        line.insert(line.end(), std::string{command} == "run" ? 1 : 0, "true");
        const ended end = to_end(line);
        EXPECT_EQ(end.status, 64);
        expect_one_line(end.err);
        expect_in("--redis \"redis://***@example.org:99999/1\": the port is not a number", end.err);
        expect_in("redis://[user:password@]host[:port][/db]", end.err);
        expect_not_in("::", end.err);
        expect_not_in("from_url", end.err);
    }
}

TEST_F(message_command_test, a_bad_url_of_the_environment_is_told_with_its_variable) {
    const ended end = to_end({"run", "lock", "true"}, "localhost:6379");
    EXPECT_EQ(end.status, 64);
    expect_in("conch run: $CONCH_REDIS \"localhost:6379\": ", end.err);
}

TEST_F(message_command_test, an_environment_without_a_url_is_not_taken_for_the_default) {
    for (const char* nothing : {"", " "}) {
        words line = conch({"run", "lock", "true"});
        line.insert(line.begin(), {"/usr/bin/env", std::string{"CONCH_REDIS="} + nothing});
        program p{line};
        const ended& end = p.finish();
        EXPECT_EQ(end.status, 64);
        expect_one_line(end.err);
        expect_in("$CONCH_REDIS must not be empty", end.err);
    }
}

TEST_F(message_command_test, a_name_that_is_too_long_is_told_without_a_type) {
    const std::string name(65537, 'x');
    for (const words& w : {words{"run", name, "true"}, words{"status", name}}) {
        const ended end = to_end(w);
        EXPECT_EQ(end.status, 64);
        expect_in(": the name is longer than 64 KiB", end.err);
        expect_not_in("::", end.err);
    }
}

/// A server with a password; each message names it, without that.
class server_message_test : public command_fixture {
protected:
    const cli::private_redis closed{{.tcp = true, .arguments = {"--requirepass", "s3cret"}}};
    const std::string place = "redis://127.0.0.1:" + std::to_string(closed.port());
    raw_client there{closed.port()};

    void SetUp() override { there.must({"AUTH", "s3cret"}); }
    program start(const words& options, const words& command) const {
        const std::string url = "redis://:s3cret@127.0.0.1:" + std::to_string(closed.port());
        return program{run_words(options, command), {{"CONCH_REDIS", url}}};
    }
    void expect_named(const ended& end) const {
        expect_one_line(end.err);
        expect_in("\"lock\"", end.err);
        expect_in(place, end.err);
        expect_not_in("s3cret", end.err);
    }
};

TEST_F(server_message_test, a_busy_lock_is_told_with_its_server) {
    take_as_stranger(there, "lock");
    program p = start({"-n"}, {"true"});
    EXPECT_EQ(p.finish().status, 1);
    expect_named(p.finish());
}

TEST_F(server_message_test, a_wait_that_is_over_is_told_with_its_server) {
    take_as_stranger(there, "lock");
    program p = start({"-w", "0.1"}, {"true"});
    EXPECT_EQ(p.finish().status, 1);
    expect_named(p.finish());
}

TEST_F(server_message_test, a_lost_lock_is_told_with_its_server) {
    program p = start({"--lease", "1"}, until_end_of_input);
    p.wait_for("in\n");
    there.must({"DEL", "lock"});
    EXPECT_EQ(p.finish().status, 75);
    expect_named(p.finish());
}

TEST_F(server_message_test, a_lock_at_its_longest_hold_is_told_with_its_server) {
    program p = start({"--max-hold", "0.3"}, until_end_of_input);
    EXPECT_EQ(p.finish().status, 75);
    expect_named(p.finish());
}

TEST_F(server_message_test, a_release_that_nobody_confirms_is_told_with_its_server) {
    program p = start({"--lease", "3600", "--connect-timeout", "0.5"}, until_end_of_input);
    p.wait_for("in\n");
    there.must({"CLIENT", "PAUSE", "60000", "ALL"});
    p.end_input();
    expect_named(p.finish());
    expect_in("is not confirmed (no answer); the lock ends with its lease, in 35", p.finish().err);
}

TEST_F(server_message_test, a_key_that_is_no_lock_is_told_with_its_server) {
    there.must({"SET", "lock", "no lock"});
    program p = start({}, {"true"});
    EXPECT_EQ(p.finish().status, 69);
    expect_named(p.finish());
}

TEST_F(server_message_test, a_password_that_is_missing_is_asked_for_in_the_form_of_the_url) {
    program of_host{run_words({}, {"true"}), {{"CONCH_REDIS", place}}};
    EXPECT_EQ(of_host.finish().status, 69);
    expect_in("redis://user:password@host", of_host.finish().err);
    program of_path{run_words({}, {"true"}), {{"CONCH_REDIS", closed.url()}}};
    EXPECT_EQ(of_path.finish().status, 69);
    expect_in("unix://user:password@/path", of_path.finish().err);
}

/// Over TCP and over its unix socket, where it may hang up before anything was written.
class full_server_message_test : public server_message_test,
                                 public ::testing::WithParamInterface<bool> {
protected:
    void SetUp() override {
        server_message_test::SetUp();
        there.must({"CONFIG", "SET", "maxclients", "1"});
    }
    program start_here(const words& line) const {
        std::string here = GetParam() ? closed.url() : place;
        here.insert(here.find("://") + 3, ":s3cret@");
        return program{line, {{"CONCH_REDIS", here}}};
    }
    /// Of a command that waits.
    void expect_waits(const words& line) {
        program p = start_here(line);
        p.wait_for_error("refused for now by ");
        EXPECT_TRUE(lease_passes(io, raw, 1500ms));  // longer than one try to connect
        there.must({"CONFIG", "SET", "maxclients", "100"});
        EXPECT_EQ(p.finish().status, 0) << p.finish().err;
        EXPECT_EQ(p.finish().out, "ran\n");
        expect_one_line(p.finish().err);
        expect_in("max number of clients", p.finish().err);
    }
};

TEST_P(full_server_message_test, it_is_known_to_be_there) {
    for (const words& options : {words{"-n"}, words{"-w", "0.2"}}) {
        const time_point start = clock::now();
        program p = start_here(run_words(options, {"true"}));
        EXPECT_EQ(p.finish().status, 69);
        expect_one_line(p.finish().err);
        expect_not_in("s3cret", p.finish().err);
        expect_in("max number of clients", p.finish().err);
        expect_not_in("is Redis running", p.finish().err);
        expect_not_in("no connection", p.finish().err);
        EXPECT_LT(clock::now() - start, 5s) << "0.5 s is its time";
    }
}

TEST_P(full_server_message_test, it_is_waited_for_like_the_lock) {
    expect_waits(run_words({"-w", "30"}, {"echo", "ran"}));
}

TEST_P(full_server_message_test, it_is_waited_for_without_a_limit_too) {
    expect_waits(run_words({}, {"echo", "ran"}));
}

TEST_P(full_server_message_test, it_is_waited_for_like_the_permits) {
    expect_waits(
        conch({"rate", "--limit", "1", "--per", "9", "-w", "30", "name", "--", "echo", "ran"}));
}

TEST_P(full_server_message_test, a_wait_for_it_has_an_end) {
    const words rate = conch({"rate", "--limit=1", "--per=9", "-w", "1", "name", "echo", "ran"});
    for (const words& line : {run_words({"-w", "1"}, {"echo", "ran"}), rate}) {
        const time_point start = clock::now();
        program p = start_here(line);
        EXPECT_EQ(p.finish().status, 69);
        EXPECT_EQ(p.finish().out, "");
        EXPECT_GE(clock::now() - start, 1s);
        EXPECT_LT(clock::now() - start, 5s);
        expect_in("(ERR max number of clients reached)", p.finish().err);
        expect_not_in("no connection", p.finish().err);
    }
}

INSTANTIATE_TEST_SUITE_P(over, full_server_message_test, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "unix" : "tcp"; });

TEST_F(server_message_test, a_server_that_is_not_there_is_told_with_the_lock) {
    program p{run_words({}, {"true"}), {{"CONCH_REDIS", "redis://:s3cret@127.0.0.1:1/7"}}};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 69);
    expect_one_line(end.err);
    expect_in("\"lock\"", end.err);
    expect_in("redis://127.0.0.1:1/7", end.err);
}

}  // namespace
