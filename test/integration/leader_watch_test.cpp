// SPDX-License-Identifier: BSL-1.0
// Who watches a leader hears of each one, and of nobody, on a real server.
#include "integration/leader_fixture.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class leader_watch_test : public leader_test {};

TEST_F(leader_watch_test, a_watcher_hears_of_each_leader_and_of_none_by_messages) {
    may_refuse = true;  // CLIENT LIST
    std::vector<lock_status> heard;
    run([&]() -> asio::awaitable<void> {
        lock_status s = co_await seen.async_leader();
        EXPECT_FALSE(s.locked);
        const auto next = [&](const std::function<void()>& change) -> asio::awaitable<void> {
            bool told = false;
            seen.async_watch_leader(s, {.clients = true}, [&](error_code ec, lock_status now) {
                EXPECT_FALSE(ec) << ec.message();
                s = std::move(now);
                told = true;
            });
            const bool listens = co_await when([&] { return watching(); });
            EXPECT_TRUE(listens);
            EXPECT_FALSE(told);
            change();
            const bool hears = co_await when([&] { return told; });
            EXPECT_TRUE(hears);
            heard.push_back(s);
        };
        co_await next([&] { c1.start(); });
        c2.start();
        const bool stands = co_await when([&] { return in_line() == 1; });
        EXPECT_TRUE(stands);
        co_await next([&] { c1.step_down(); });
        co_await next([&] { c2.step_down(); });
    });
    ASSERT_EQ(heard.size(), 3u);
    EXPECT_EQ(heard[0].holder, one.id() + ":1");
    EXPECT_EQ(heard[0].fence, all.fences.at(0));
    EXPECT_EQ(heard[1].holder, two.id() + ":1");
    EXPECT_EQ(heard[1].fence, all.fences.at(1));
    EXPECT_FALSE(heard[2].locked);
    EXPECT_EQ(three.stats().wakes_by_poll, 0u);
}

TEST_F(leader_watch_test, a_watcher_hears_at_once_of_who_leads_already) {
    c1.start();
    expect([&] { return c1.leads(); }, "it leads");
    run([&]() -> asio::awaitable<void> {
        const lock_status s = co_await seen.async_watch_leader();
        EXPECT_EQ(s.holder, one.id() + ":1");
        EXPECT_EQ(s.fence, all.fences.at(0));
        const lock_status again = co_await seen.async_watch_leader(asio::use_awaitable);
        EXPECT_EQ(again.holder, s.holder);
    });
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends");
}

TEST_F(leader_watch_test, a_watcher_survives_its_connection) {
    client remote{io, through("remote")};
    const leader l{remote, "lock"};
    std::optional<lock_status> s;
    l.async_watch_leader([&](error_code ec, lock_status now) {
        EXPECT_FALSE(ec) << ec.message();
        s = std::move(now);
    });
    expect([&] { return watching(); }, "it listens");
    wire.stall();
    wire.cut();
    c1.start();
    expect([&] { return c1.leads(); }, "somebody leads");
    EXPECT_FALSE(s);
    wire.heal();
    expect([&] { return s.has_value(); }, "it asks again when it is connected");
    EXPECT_TRUE(s->locked);
    EXPECT_EQ(remote.stats().wakes_by_poll, 0u);
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends");
}

TEST_F(leader_watch_test,
       a_watcher_is_cancelled_told_that_no_server_answers_and_that_the_client_ends) {
    std::optional<error_code> why;
    const auto note = [&](error_code ec, const lock_status&) { why = ec; };
    asio::cancellation_signal stop;
    seen.async_watch_leader(asio::bind_cancellation_slot(stop.slot(), note));
    expect([&] { return watching(); }, "it listens");
    stop.emit(asio::cancellation_type::total);
    expect([&] { return why.has_value(); }, "it ends");
    EXPECT_EQ(*why, asio::error::operation_aborted);
    expect([&] { return !watching(); }, "it listens no more");

    config c = through("remote");
    c.operation_timeout = 300ms;
    c.max_poll_interval = 100ms;
    client remote{io, c};
    const leader l{remote, "lock"};
    why.reset();
    l.async_watch_leader(note);
    expect([&] { return watching(); }, "it listens");
    EXPECT_FALSE(why);
    wire.stall();
    expect([&] { return why.has_value(); }, "it ends");
    EXPECT_EQ(*why, errc::not_connected);
    wire.heal();

    why.reset();
    l.async_watch_leader(note);
    expect([&] { return watching(); }, "it listens");
    EXPECT_FALSE(why);
    remote.async_shutdown({.drain = 1s}, [](error_code) {});
    expect([&] { return why.has_value(); }, "it ends");
    EXPECT_EQ(*why, errc::client_closed);
}

}  // namespace
