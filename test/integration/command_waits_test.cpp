// SPDX-License-Identifier: BSL-1.0
// `conch who`, `conch ls` and `conch top`: what the holders of a lock wait for themselves.
#include "support/attempt.hpp"
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <unistd.h>

#include <optional>
#include <regex>

namespace {

using namespace conch;
using namespace conch::test;

class waits_command_test : public command_fixture {
protected:
    config looking(const std::string& service) {
        config c = settings();
        c.deadlock_detection = true;
        c.service = service;
        return c;
    }
    /// "a", whose holder waits for "b", whose holder waits for "c", which is Redisson's.
    void SetUp() override {
        take_as_stranger(raw, "c");
        run([this]() -> asio::awaitable<void> {
            a = co_await mutex{one, "a"}.async_lock(of(first));
            b = co_await mutex{two, "b"}.async_lock(of(second));
        });
        const mutex b_of_one{one, "b"};
        const mutex c_of_two{two, "c"};
        waits_for_b.emplace(
            [&](auto&& token) { b_of_one.async_lock(of(first), std::move(token)); });
        waits_for_c.emplace(
            [&](auto&& token) { c_of_two.async_lock(of(second), std::move(token)); });
        const words records{"conch_wait:{a}:" + one.id() + ":1",
                            "conch_wait:{b}:" + two.id() + ":1"};
        for (const std::string& key : records) {
            // The clients stand still while a program runs.
            ASSERT_TRUE(run_until(io, [&] { return raw.must({"PERSIST", key}).number == 1; }));
        }
    }
    static lock_options of(const owner& o) { return {.owner = &o}; }
    static std::string self() { return "process " + std::to_string(::getpid()) + " on "; }
    /// Who has "c" waits for "a".
    void close_circle() {
        raw.must(
            {"SET", "conch_wait:{c}:" + std::string{owner_of_redisson}, "1 1 1 - mutex 1 0 1 a"});
    }

    owner first{}, second{};
    client one{io, looking("orders")};
    client two{io, looking("bills")};
    hold a{}, b{};
    std::optional<attempt<hold>> waits_for_b{}, waits_for_c{};
};

TEST_F(waits_command_test, who_follows_them_from_holder_to_holder) {
    const ended end = to_end({"who", "a"});
    EXPECT_EQ(end.status, 0) << end.err;
    expect_in("\n  waits for   b for ", end.out);
    expect_in(", held by " + self(), end.out);
    expect_in(", service bills", end.out);
    expect_in(", which waits for\n              c for ", end.out);
    expect_in("s, held by 5c1e0a8e..:1\n", end.out);
}

TEST_F(waits_command_test, who_tells_a_circle) {
    close_circle();
    for (const char* const name : {"a", "b", "c"}) {
        expect_in(": this is a cycle\n", to_end({"who", name}).out);
    }
    // Of one that is not in it, too; and of readers, of whom one is in it.
    take_as_stranger(raw, "d");
    raw.must({"SET", "conch_wait:{d}:" + std::string{owner_of_redisson}, "1 1 1 - mutex 1 0 1 b"});
    expect_in(": this is a cycle\n", to_end({"who", "d"}).out);
    const std::string reader = "5c1e0a8e-0000-4000-8000-00000000000";
    raw.must({"DEL", "c"});
    raw.must({"HSET", "c", "mode", "read", reader + "1:1", "1", reader + "2:1", "1", reader + "3:1",
              "1"});
    raw.must({"SET", "conch_wait:{c}:" + reader + "1:1", "1 1 1 - mutex 1 0 4 free"});
    raw.must({"SET", "conch_wait:{c}:" + reader + "2:1", "1 1 1 - mutex 1 0 1 a"});
    expect_in("  one wants   ", to_end({"who", "c"}).out);
    expect_in(": this is a cycle\n", to_end({"who", "c"}).out);
    // It waits for a writer that waits, and not for those who read.
    raw.must({"SET", "conch_wait:{a}:" + one.id() + ":1", "1 1 1 - read 1 0 1 c"});
    const std::string end = to_end({"who", "a"}).out;
    expect_in(", to read it: a writer waits before\n", end);
    EXPECT_EQ(end.find("cycle"), std::string::npos) << end;
}

// Each tells what it waits for after a quarter of its poll interval, and looks for another before
// it finds a circle. Neither runs while a program does.
TEST_F(waits_command_test, who_tells_a_circle_that_its_clients_have_not_found_yet) {
    const auto rarely = [this](const std::string& service) {
        config c = looking(service);
        c.max_poll_interval = 4s;
        return c;
    };
    client three{io, rarely("mails")};
    client four{io, rarely("shop")};
    hold x;
    hold y;
    run([&]() -> asio::awaitable<void> {
        x = co_await mutex{three, "x"}.async_lock(of(first));
        y = co_await mutex{four, "y"}.async_lock(of(second));
    });
    const mutex x_of_four{four, "x"};
    const mutex y_of_three{three, "y"};
    attempt<hold> older{[&](auto&& token) { y_of_three.async_lock(of(first), std::move(token)); }};
    attempt<hold> younger{
        [&](auto&& token) { x_of_four.async_lock(of(second), std::move(token)); }};
    ASSERT_TRUE(run_until(io, [&] {
        return raw.exists("conch_wait:{x}:" + three.id() + ":1") &&
               raw.exists("conch_wait:{y}:" + four.id() + ":1");
    }));
    EXPECT_FALSE(older.done() || younger.done());
    const auto circle = [](const std::string& name, const std::string& other, const char* service) {
        return "\n  waits for   " + other + " for [^\n]*, held by " + self() + "[^\n]*, service " +
               service + ", which waits for\n {14}" + name + " for [^\n]*: this is a cycle\n";
    };
    const std::string at_x = to_end({"who", "x"}).out;
    EXPECT_TRUE(std::regex_search(at_x, std::regex{circle("x", "y", "shop")})) << at_x;
    const std::string at_y = to_end({"who", "y"}).out;
    EXPECT_TRUE(std::regex_search(at_y, std::regex{circle("y", "x", "mails")})) << at_y;
}

TEST_F(waits_command_test, who_goes_on_where_the_user_may_not_look) {
    may_refuse = true;
    raw.must(
        {"ACL", "SETUSER", std::string{conch_user}, "resetkeys", "~*{a}*", "~a", "+client|list"});
    const ended end = to_end({"who", "a"});
    EXPECT_EQ(end.status, 0) << end.err;
    expect_in("; the server tells nothing of it\n", end.out);
}

TEST_F(waits_command_test, who_ends_a_long_chain) {
    std::string before = "long";
    for (int i = 0; i < 50; ++i) {
        take_as_stranger(raw, before);
        const std::string next = "long" + std::to_string(i);
        raw.must({"SET", "conch_wait:{" + before + "}:" + std::string{owner_of_redisson},
                  "1 1 1 - mutex 1 0 " + std::to_string(next.size()) + ' ' + next});
        before = next;
    }
    expect_in(", which waits, too\n", to_end({"who", "long"}).out);
}

TEST_F(waits_command_test, who_tells_one_that_nobody_holds_any_more) {
    raw.must({"DEL", "c"});
    expect_in(", which nobody holds now\n", to_end({"who", "a"}).out);
}

TEST_F(waits_command_test, who_tells_them_to_programs) {
    close_circle();
    const boost::json::object o =
        boost::json::parse(to_end({"who", "a", "--json"}).out).as_object();
    const auto& wants = o.at("holders").at(0).at("wants");
    EXPECT_EQ(wants.as_array().size(), 1u);
    EXPECT_EQ(wants.at(0).at("name").as_string(), "b");
    const boost::json::array& chain = o.at("chain").as_array();
    ASSERT_EQ(chain.size(), 3u);
    EXPECT_EQ(chain[0].at("holders").at(0).at("service").as_string(), "bills");
    EXPECT_GE(chain[0].at("waited_ms").as_int64(), 0);
    EXPECT_LT(chain[0].at("waited_ms").as_int64(), 60'000);
    EXPECT_EQ(chain[1].at("name").as_string(), "c");
    EXPECT_EQ(chain[2].at("name").as_string(), "a");
    EXPECT_TRUE(chain[2].at("holders").as_array().empty());
}

TEST_F(waits_command_test, are_a_column_where_there_are_some) {
    const std::string table = to_end({"ls", "--sort", "wants"}).out;
    expect_in(" WANTS\n", table);
    EXPECT_LT(table.find("\na "), table.find("\nb ")) << table;
    EXPECT_LT(table.find("\nb "), table.find("\nc ")) << table;
    expect_in("  b\n", table);
    expect_in("  c\n", table);
    raw.must({"SET", "conch_wait:{a}:" + one.id() + ":1", "1 1 1 - mutex 1 0 1 b mutex 2 0 1 c"});
    expect_in("  b +1\n", to_end({"ls"}).out);
    const auto began = std::chrono::system_clock::now().time_since_epoch() - 5000s;
    const auto began_ms = std::chrono::duration_cast<std::chrono::milliseconds>(began).count();
    raw.must({"SET", "conch_wait:{a}:" + one.id() + ":1",
              "1 1 1 - mutex 1 " + std::to_string(began_ms) + " 1 b"});
    expect_in(" 1 (1h23m) ", to_end({"ls"}).out);
    expect_in("\"longest_wait_ms\":500", to_end({"ls", "--json"}).out);
    expect_in("\"longest_wait_ms\":null", to_end({"ls", "b", "--json"}).out);
    raw.must({"DEL", "a", "b"});
    const std::string without = to_end({"ls"}).out;
    EXPECT_EQ(without.find("WANTS"), std::string::npos) << without;
}

TEST_F(waits_command_test, stand_in_the_list_of_top) {
    if (!terminal_session::possible()) {
        GTEST_SKIP() << "no pseudo-terminals here";
    }
    terminal_session t{conch({"top"}), {{"CONCH_REDIS", url()}, {"TERM", "xterm"}}};
    t.wait_for("WANTS");
    t.type("n\n");
    t.wait_for("waits for   b for ");
    close_circle();
    t.wait_for("a for ");
    t.wait_for(": this is a cycle");
    t.type("q");
    t.finish();
}

TEST_F(waits_command_test, are_nothing_where_somebody_else_wrote_something) {
    for (const char* const text :
         {"", "2 1 1 - mutex 1 0 1 b", "1 x 1 - mutex 1 0 1 b", "1 1 1 - mutex 1 0 99 b",
          "1 1 1 - mutex -1 0 1 b", "1 1 1 - thing 1 0 1 b", "1 1 1 - mutex 1 0 0 ",
          "1 1 1 - mutex 1 0 -1 b", "1 1 1", "1 1 1 - mutex", "1 1 1 - mutex 1 0 1 b."}) {
        raw.must({"SET", "conch_wait:{a}:" + one.id() + ":1", text});
        const ended end = to_end({"who", "a"});
        EXPECT_EQ(end.status, 0) << text;
        EXPECT_EQ(end.out.find("waits for"), std::string::npos) << text << '\n' << end.out;
    }
    raw.must({"DEL", "conch_wait:{a}:" + one.id() + ":1"});
    raw.must({"RPUSH", "conch_wait:{a}:" + one.id() + ":1", "x"});
    const ended end = to_end({"who", "a"});
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.err, "");
}

}  // namespace
