// SPDX-License-Identifier: BSL-1.0
// `conch status`, `conch release`, `conch watch`, and what all commands have in common.
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <deque>

namespace {

using namespace conch;
using namespace conch::test;

using command_test = command_fixture;
using release_command_test = command_fixture;
using status_command_test = command_fixture;
using watch_command_test = command_fixture;

/// The answer of `conch status --json NAME`.
boost::json::object parsed(const ended& end) {
    EXPECT_EQ(end.status, 0) << end.err;
    expect_one_line(end.out);
    return boost::json::parse(end.out).as_object();
}

TEST_F(status_command_test, a_free_lock_is_told_in_text) {
    const ended end = to_end({"status", "lock"});
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.out, "lock: free\n");
}

TEST_F(status_command_test, a_held_lock_is_told_in_text_with_its_holder) {
    take_as_stranger(raw, "lock");
    const ended end = to_end({"status", "lock"});
    EXPECT_EQ(end.status, 0);
    expect_in("lock: mutex, locked\n", end.out);
    expect_in(raw.hgetall("lock").begin()->first, end.out);
}

TEST_F(status_command_test, a_pattern_is_not_taken_for_a_free_lock) {
    take_as_stranger(raw, "orders:7");
    const ended end = to_end({"status", "orders:*"});
    EXPECT_EQ(end.out, "orders:*: no lock has this very name (a pattern is not looked up)\n");
    const ended watched = to_end({"watch", "--count", "1", "orders:*"});
    expect_in("orders:*: no lock has this very name (a pattern is not looked up)\n", watched.out);
    const ended released = to_end({"release", "--force", "orders:*"});
    EXPECT_EQ(released.err,
              "conch release: nobody holds \"orders:*\" (a pattern is not looked up)\n");
    take_as_stranger(raw, "orders:*");
    expect_in("orders:*: mutex, locked\n", to_end({"status", "orders:*"}).out);
}

TEST_F(status_command_test, a_free_lock_in_json) {
    const auto o = parsed(to_end({"status", "--json", "lock"}));
    EXPECT_EQ(o, (boost::json::object{{"name", "lock"},
                                      {"locked", false},
                                      {"kind", "mutex"},
                                      {"holder", ""},
                                      {"holders", boost::json::array{}},
                                      {"depth", 0},
                                      {"ttl_ms", nullptr},
                                      {"fence", 0},
                                      {"host", nullptr},
                                      {"pid", nullptr},
                                      {"address", nullptr},
                                      {"waiting", 0}}));
}

TEST_F(status_command_test, a_held_lock_in_json) {
    take_as_stranger(raw, "lock");
    take_as_stranger(raw, "lock", 20s);
    raw.must({"SET", fence_key_of("lock"), "1789"});
    auto o = parsed(to_end({"status", "lock", "--json"}));
    const std::int64_t ttl = o.at("ttl_ms").as_int64();
    EXPECT_GT(ttl, 10'000);
    EXPECT_LE(ttl, 20'000);
    o.erase("ttl_ms");
    const std::string holder = raw.hgetall("lock").begin()->first;
    EXPECT_EQ(o, (boost::json::object{{"name", "lock"},
                                      {"locked", true},
                                      {"kind", "mutex"},
                                      {"holder", holder},
                                      {"holders", {{{"holder", holder}}}},
                                      {"depth", 2},
                                      {"fence", 1789},
                                      {"host", nullptr},
                                      {"pid", nullptr},
                                      {"address", nullptr},
                                      {"waiting", 0}}));
}

TEST_F(status_command_test, the_process_that_holds_the_lock_is_told_and_how_many_wait) {
    for (const char* const kind : {"", "--plain"}) {
        SCOPED_TRACE(kind);
        raw.must({"FLUSHALL"});
        const words options = *kind ? words{kind} : words{};
        program holder{run_words(options, until_end_of_input), here()};
        holder.wait_for("in\n");
        program one{run_words(options, {"true"}), here()};
        program two{run_words(options, {"true"}), here()};
        const std::string channel =
            *kind ? "conch_token_mutex_channel:{lock}" : "redisson_lock__channel:{lock}";
        ASSERT_TRUE(run_until(io, [&] { return raw.subscribers(channel) == 2; }));
        words status{"status", "lock"};
        status.insert(status.end(), options.begin(), options.end());
        char host[HOST_NAME_MAX + 1] = "";
        ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
        const ended text = to_end(status);
        expect_in("  process " + std::to_string(holder.pid()) + " on " + host + '\n',
                  text.out);
        expect_in("  waiting 2 clients\n", text.out);
        status.emplace_back("--json");
        const auto o = parsed(to_end(status));
        EXPECT_EQ(o.at("host").as_string(), host);
        EXPECT_EQ(o.at("pid").as_int64(), holder.pid());
        EXPECT_NE(raw.must({"CLIENT", "LIST"}).text.find(o.at("address").as_string().c_str()),
                  std::string::npos);
        EXPECT_EQ(o.at("waiting").as_int64(), 2);
    }
}

TEST_F(status_command_test, the_holder_is_a_conch_run) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    const auto o = parsed(to_end({"status", "--json", "lock"}));
    EXPECT_TRUE(o.at("locked").as_bool());
    EXPECT_EQ(o.at("holder").as_string(), raw.hgetall("lock").begin()->first);
    EXPECT_EQ(o.at("depth").as_int64(), 1);
}

TEST_F(status_command_test, control_characters_do_not_reach_the_terminal) {
    const ended end = to_end({"status", "a\033[2Jb\n"});
    EXPECT_EQ(end.out, "a?[2Jb?: free\n");
}

TEST_F(status_command_test, output_that_cannot_be_written_is_74) {
    program p{{"/bin/sh", "-c", "exec \"$0\" status lock >/dev/full", CONCH_PROGRAM_PATH}, here()};
    EXPECT_EQ(p.finish().status, 74);
}

TEST_F(status_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"status", "lock"}, nowhere());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(status_command_test, conch_redis_names_the_server) {
    take_as_stranger(raw, "lock");
    expect_in("locked", to_end({"status", "lock"}, url()).out);
}

TEST_F(status_command_test, the_option_wins_over_conch_redis) {
    const cli::private_redis other;
    take_as_stranger(raw, "lock");
    expect_in("locked", to_end({"status", "--redis", url(), "lock"}, other.url()).out);
    expect_in("free", to_end({"status", "--redis", other.url(), "lock"}, url()).out);
}

TEST_F(status_command_test, a_url_of_another_scheme_is_64_and_one_line) {
    for (const char* url : {"http://127.0.0.1", "redist://127.0.0.1", "127.0.0.1:6379"}) {
        const ended end = to_end({"status", "--redis", url, "lock"});
        EXPECT_EQ(end.status, 64) << url;
        expect_one_line(end.err);
        EXPECT_EQ(to_end({"status", "lock"}, url).status, 64) << url;
    }
}

TEST_F(status_command_test, a_missing_name_is_64) {
    EXPECT_EQ(to_end({"status"}).status, 64);
    EXPECT_EQ(to_end({"status", "one", "two"}).status, 64);
}

TEST_F(release_command_test, without_force_it_is_64_and_changes_nothing) {
    take_as_stranger(raw, "lock");
    const ended end = to_end({"release", "lock"});
    EXPECT_EQ(end.status, 64);
    expect_one_line(end.err);
    expect_in("--force", end.err);
    EXPECT_EQ(raw.hlen("lock"), 1);
}

TEST_F(release_command_test, with_force_it_tells_who_was_thrown_out) {
    take_as_stranger(raw, "lock");
    const std::string holder = raw.hgetall("lock").begin()->first;
    const ended end = to_end({"release", "--force", "lock"});
    EXPECT_EQ(end.status, 0);
    expect_one_line(end.out);
    expect_in("lock: released; before: mutex, held by " + holder + ", ends in ", end.out);
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(release_command_test, a_free_lock_is_1) {
    const ended end = to_end({"release", "--force", "lock"});
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(end.err, "conch release: nobody holds \"lock\"\n");
}

TEST_F(release_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"release", "--force", "lock"}, nowhere());
    EXPECT_EQ(end.status, 69);
    expect_one_line(end.err);
}

TEST_F(watch_command_test, each_change_is_a_line) {
    program p{conch({"watch", "--count", "3", "lock"}), here()};
    p.wait_for("lock: free\n");
    take_as_stranger(raw, "lock");
    const std::string holder = raw.hgetall("lock").begin()->first;
    p.wait_for("lock: mutex, held by " + holder + ", ends in ");
    redisson_release(raw, "lock");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 3) << end.out;
    expect_in("lock: free (before: " + holder + ", seen for ", end.out);
}

TEST_F(watch_command_test, another_holder_is_a_change_and_a_renewal_is_none) {
    const std::string owner = "5c1e0a8e-0000-4000-8000-000000000001:2";
    take_as_stranger(raw, "lock");
    program p{conch({"watch", "--count", "2", "lock"}), here()};
    p.wait_for("held by");
    raw.must({"PEXPIRE", "lock", "60000"});
    run([] { return pass(600ms); });  // longer than between two questions
    raw.must({"DEL", "lock"});
    raw.must({"HSET", "lock", owner, "1"});
    const ended& end = p.finish();
    EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 2) << end.out;
    expect_in("held by " + owner + ", never ends", end.out);
}

TEST_F(watch_command_test, lines_in_json) {
    take_as_stranger(raw, "lock");
    auto o = parsed(to_end({"watch", "--json", "--count", "1", "lock"}));
    EXPECT_EQ(o.at("time").as_string().size(), std::string_view{"2000-01-01T00:00:00Z"}.size());
    const std::string holder = raw.hgetall("lock").begin()->first;
    EXPECT_EQ(o.at("kind"), "mutex");
    EXPECT_EQ(o.at("holder"), holder.c_str());
    EXPECT_EQ(o.at("holders"), (boost::json::array{{{"holder", holder}}}));
    EXPECT_TRUE(o.at("locked").as_bool());
}

TEST_F(watch_command_test, sigint_ends_it_with_130) {
    program p{conch({"watch", "lock"}), here()};
    p.wait_for("free");
    p.signal(SIGINT);
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 130);
    EXPECT_EQ(end.err, "");
}

TEST_F(watch_command_test, it_does_not_ask_often) {
    program p{conch({"watch", "lock"}), here()};
    p.wait_for("free");
    const auto asked = [&] { return raw.must({"INFO", "commandstats"}).text; };
    const auto start = clock::now();
    raw.reset_calls();
    run([] { return pass(1s); });
    const std::uint64_t calls = raw.calls("hgetall") + raw.calls("evalsha");
    const auto most = (clock::now() - start) / 250ms + 1;
    EXPECT_GE(calls, 1u) << asked();
    EXPECT_LE(calls, 2 * static_cast<std::uint64_t>(most));
}

TEST_F(watch_command_test, a_server_that_goes_is_told_and_waited_for) {
    program p{conch({"watch", "--count", "3", "lock"}), here()};
    p.wait_for("free");
    server.kill();
    p.wait_for("no connection", 30s);
    server.start();
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_TRUE(end.out.ends_with("lock: free\n")) << end.out;
}

TEST_F(watch_command_test, output_that_cannot_be_written_ends_it_with_74) {
    for (const char* format : {"", "--json"}) {
        program p{
            {"/bin/sh", "-c", "exec \"$0\" watch $1 lock >/dev/full", CONCH_PROGRAM_PATH, format},
            here()};
        EXPECT_EQ(p.finish().status, 74);
        expect_one_line(p.finish().err);
    }
}

TEST_F(watch_command_test, without_redis_it_is_69_and_one_line) {
    const ended end = to_end({"watch", "lock"}, nowhere());
    EXPECT_EQ(end.status, 69);
    EXPECT_EQ(end.out, "");
    expect_one_line(end.err);
}

TEST_F(watch_command_test, on_a_terminal_a_line_is_kept_up_to_date) {
    take_as_stranger(raw, "lock");
    if (!terminal_session::possible()) {
        GTEST_SKIP() << "no pseudo-terminals here";
    }
    terminal_session t{conch({"watch", "lock"}), here()};
    t.wait_for("held by");
    t.wait_for("since first seen, ends in ");
    t.wait_for("since first seen, ends in ");
    t.type("\x03");
    EXPECT_EQ(t.finish().status, 130);
}

TEST_F(command_test, the_password_of_a_url_is_never_told) {
    const cli::private_redis closed{{.tcp = true, .arguments = {"--requirepass", "right"}}};
    const std::string port = std::to_string(closed.port());
    const std::string user = "://user:s3cret@127.0.0.1:";
    const words urls{"redis" + user + port,  "redis://:s3cret@127.0.0.1:" + port,
                     "redis" + user + "1",   "redis" + user + "99999",
                     "redis" + user + "1/x", "http" + user + "1",
                     "redis" + user + "1 2", "s3cret"};
    std::deque<program> all;  // at the same time: some try for seconds
    for (const std::string& url : urls) {
        for (const words& w : {words{"status", "lock"}, words{"run", "lock", "true"},
                               words{"demo", "--redis", url, "--processes", "1"}}) {
            all.emplace_back(conch(w), program::environment{{"CONCH_REDIS", url}});
        }
    }
    for (program& p : all) {
        const ended& end = p.finish();
        EXPECT_TRUE(end.status == 64 || end.status == 69) << ::testing::PrintToString(end);
        EXPECT_EQ((end.out + end.err).find("s3cret"), std::string::npos)
            << ::testing::PrintToString(end);
    }
}

}  // namespace
