// SPDX-License-Identifier: BSL-1.0
// leader on a real server: one leads at a time, in the order of the line.
#include "integration/leader_fixture.hpp"

#include <boost/asio/use_future.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(leader_test, leads_once_and_steps_down) {
    c1.start();
    expect([&] { return c1.leads(); }, "it leads");
    EXPECT_EQ(raw.hgetall("lock"), (std::map<std::string, std::string>{{one.id() + ":1", "1"}}));
    EXPECT_EQ(std::to_string(all.fences.at(0)), raw.get(fence_key_of("lock")));
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends");
    EXPECT_FALSE(c1.why()) << c1.words();
    EXPECT_FALSE(raw.exists("lock"));
    EXPECT_THROW((leader{one, ""}), std::invalid_argument);
}

TEST_F(leader_test, takes_each_kind_of_token_and_runs_the_body_where_the_handler_runs) {
    const leader l{one, "lock"};
    const auto here = std::this_thread::get_id();
    int led = 0;
    auto body = [&]() -> asio::awaitable<void> {
        EXPECT_EQ(std::this_thread::get_id(), here);
        EXPECT_TRUE(raw.exists("lock"));
        ++led;
        co_return;
    };
    std::exception_ptr end = std::make_exception_ptr(std::logic_error{"not called"});
    run([&]() -> asio::awaitable<void> {
        co_await l.async_lead(body);
        co_await l.async_lead(body, asio::use_awaitable);
        co_await l.async_lead({.lease = 20s}, body, asio::deferred);
        const auto [e] = co_await l.async_lead(std::ref(body), as_result);
        EXPECT_FALSE(e);
        l.async_lead(body, [&](std::exception_ptr thrown) { end = thrown; });
        EXPECT_TRUE(end) << "inside the initiating call";
        const bool ended = co_await when([&] { return !end; });
        EXPECT_TRUE(ended);
    });
    std::future<void> f = l.async_lead(body, asio::use_future);
    expect([&] { return f.wait_for(0s) == std::future_status::ready; }, "the future is ready");
    f.get();
    EXPECT_EQ(led, 6);
    std::future<lock_status> who = l.async_leader(asio::use_future);
    expect([&] { return who.wait_for(0s) == std::future_status::ready; }, "the future is ready");
    EXPECT_FALSE(who.get().locked);
}

TEST_F(leader_test, candidates_lead_in_their_order_and_the_leader_hands_over_by_its_release) {
    c1.start();
    expect([&] { return c1.leads(); }, "the first leads");
    stand(c2, 0);
    stand(c3, 1);
    c1.step_down();
    expect([&] { return c2.leads() && c1.ended(); }, "the second leads");
    stand(c1, 1);
    raw.reset_calls();
    c2.step_down();
    expect([&] { return c3.leads(); }, "the third leads");
    EXPECT_EQ(raw.calls("evalsha") + raw.calls("eval"), 1u) << "nobody but the releaser asked";
    c3.step_down();
    expect([&] { return c1.leads(); }, "the first leads again");
    c1.step_down();
    expect([&] { return c1.ended() && c2.ended() && c3.ended(); }, "all end");
    EXPECT_FALSE(raw.exists("lock"));
    EXPECT_FALSE(c1.why() || c2.why() || c3.why());
    ASSERT_EQ(all.fences.size(), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(all.fences));
    EXPECT_EQ(one.stats().wakes_by_poll + two.stats().wakes_by_poll, 0u);
}

TEST_F(leader_test, of_many_processes_one_leads_at_a_time) {
    struct ledger {
        std::atomic<int> leading{0};
        std::atomic<int> overlaps{0};
        std::atomic<int> terms{0};
    };
    constexpr int processes = 5;
    constexpr int each = 20;
    const shared_value<ledger> book;
    std::deque<child_process> children;
    for (int i = 0; i < processes; ++i) {
        children.emplace_back([&](const auto&) {
            asio::io_context own;
            client redis{own, settings("worker")};
            const leader l{redis, "lock"};
            auto body = [&](hold&) -> asio::awaitable<void> {
                book->overlaps += ++book->leading > 1 ? 1 : 0;
                co_await pass(1ms);
                --book->leading;
                ++book->terms;
            };
            run_test(
                own,
                [&]() -> asio::awaitable<void> {
                    for (int n = 0; n < each; ++n) {
                        co_await l.async_lead({.lease = 60s}, std::ref(body));
                    }
                }(),
                50s);
            return 0;
        });
    }
    for (child_process& child : children) {
        EXPECT_EQ(child.join(60s), 0);
    }
    EXPECT_EQ(book->overlaps, 0);
    EXPECT_EQ(book->terms, processes * each);
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_F(leader_test, after_a_killed_leader_the_next_leads_and_a_watcher_hears_of_both) {
    const shared_value<std::atomic<std::uint64_t>> fence;
    client near{io, polling(100ms, "near")};
    const leader watched{near, "lock"};
    child_process doomed = elsewhere(1s, [&](hold& h, const leader&) {
        *fence = h.fence();
        ::raise(SIGKILL);
    });
    ASSERT_TRUE(doomed.reported('L'));
    EXPECT_NE(doomed.join(), 0);
    run([&]() -> asio::awaitable<void> {
        lock_status s = co_await watched.async_leader();
        EXPECT_TRUE(s.locked);
        s = co_await watched.async_watch_leader(s);
        EXPECT_FALSE(s.locked) << "its lease ended";
    });
    c1.start();
    expect([&] { return c1.leads(); }, "the next leads");
    EXPECT_GT(all.fences.at(0), *fence);
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends");
}

TEST_F(leader_test, who_was_frozen_beyond_its_lease_knows_that_it_leads_no_more) {
    const shared_value<std::atomic<std::uint64_t>> fence;
    const shared_value<std::atomic<pid_t>> process;
    child_process frozen = elsewhere(1s, [&](hold& h, const leader&) {
        *fence = h.fence();
        *process = ::getpid();
        ::raise(SIGSTOP);
    });
    ASSERT_TRUE(frozen.reported('L'));
    c1.start();
    expect([&] { return c1.leads(); }, "the next leads");
    EXPECT_GT(all.fences.at(0), *fence);
    ::kill(*process, SIGCONT);
    EXPECT_TRUE(frozen.reported('n')) << "it says that it leads";
    EXPECT_EQ(frozen.join(), 0) << "it is told that the lead is lost";
    EXPECT_TRUE(c1.leads()) << "what it released is not another's";
    EXPECT_TRUE(raw.exists("lock"));
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends");
}

TEST_F(leader_test, who_is_cut_off_is_told_before_another_leads) {
    client remote{io, through("remote")};
    candidate far{remote, all};
    far.start({.lease = 4s, .stop_before = 1500ms});
    expect([&] { return far.leads(); }, "it leads");
    stand(c1, 0);
    wire.stall();
    expect([&] { return c1.leads(); }, "the next leads");
    EXPECT_FALSE(far.leads());
    EXPECT_TRUE(far.ended_in_time());
    expect([&] { return far.ended(); }, "it ends");
    EXPECT_EQ(far.why(), errc::lock_lost);
    EXPECT_NE(far.words().find("lock"), std::string::npos) << far.words();
    wire.heal();
    c1.step_down();
    expect([&] { return c1.ended(); }, "the next ends");
}

TEST_F(leader_test, a_body_that_throws_steps_down_and_its_exception_arrives) {
    const leader l{one, "lock"};
    run([&]() -> asio::awaitable<void> {
        auto late = []() -> asio::awaitable<void> {
            co_await asio::post(asio::use_awaitable);
            throw std::runtime_error{"mine"};
        };
        auto early = []() -> asio::awaitable<void> { throw std::runtime_error{"mine"}; };
        for (const bool at_once : {false, true}) {
            std::string what;
            try {
                if (at_once) {
                    co_await l.async_lead({.again = true}, early);
                } else {
                    co_await l.async_lead({.again = true}, late);
                }
            } catch (const std::runtime_error& e) {
                what = e.what();
            }
            EXPECT_EQ(what, "mine");
            EXPECT_FALSE(raw.exists("lock"));
        }
    });
}

TEST_F(leader_test, a_cancelled_campaign_leaves_the_line_and_a_cancelled_leader_steps_down) {
    using type = asio::cancellation_type;
    c1.start();
    expect([&] { return c1.leads(); }, "the first leads");
    for (const type t : {type::terminal, type::partial, type::total}) {
        stand(c2, 0);
        c2.cancel(t);
        expect([&] { return c2.ended() && in_line() == 0; }, "it leaves");
        EXPECT_EQ(c2.why(), asio::error::operation_aborted);
        EXPECT_EQ(c2.terms(), 0);
    }
    stand(c2, 0, {.wait = 20ms});
    expect([&] { return c2.ended(); }, "it had time enough");
    EXPECT_EQ(c2.why(), errc::timed_out) << c2.words();
    stand(c2, 0);
    c1.cancel(type::terminal);
    expect([&] { return c1.ended() && c2.leads(); }, "it steps down");
    EXPECT_TRUE(c1.ended_in_time());
    EXPECT_EQ(c1.why(), asio::error::operation_aborted);
    c2.step_down();
    expect([&] { return c2.ended() && !raw.exists("lock"); }, "nobody leads");
}

TEST_F(leader_test, campaigns_again_after_a_term_and_after_a_loss_until_its_body_ends) {
    c1.start({.max_hold = 300ms, .again = true});
    expect([&] { return c1.leads(); }, "it leads");
    stand(c2, 0);
    expect([&] { return c2.leads(); }, "its term ends");
    expect([&] { return in_line() == 1; }, "it campaigns again");
    EXPECT_FALSE(c1.ended());
    c2.step_down();
    expect([&] { return c1.terms() == 2; }, "it leads again");
    raw.must({"DEL", "lock"});
    expect([&] { return c1.terms() >= 3 && c1.leads(); }, "a loss is no end");
    c1.step_down();
    expect([&] { return c1.ended(); }, "it ends by its own will");
    EXPECT_FALSE(c1.why()) << c1.words();
    c3.start({.max_hold = 300ms});
    expect([&] { return c3.ended(); }, "without `again`, a term is all");
    EXPECT_EQ(c3.why(), errc::lock_lost);
    EXPECT_TRUE(std::ranges::is_sorted(all.fences));
}

TEST_F(leader_test, a_leader_that_is_stuck_loses_the_lead_to_the_next) {
    c1.start({.lease = 6s, .progress_within = 1s});
    expect([&] { return c1.leads(); }, "it leads");
    stand(c2, 0);
    expect([&] { return c2.leads(); }, "it reported no progress");
    expect([&] { return c1.ended(); }, "it ends");
    EXPECT_EQ(c1.why(), errc::lock_lost);
    EXPECT_NE(c1.words().find("reported no progress"), std::string::npos) << c1.words();
    c2.step_down();
    expect([&] { return c2.ended(); }, "it ends");
}

TEST_F(leader_test, who_campaigns_again_can_be_cancelled_meanwhile) {
    c1.start({.max_hold = 100ms, .again = true});
    expect([&] { return one.stats().releases == 1; }, "a term ends");
    c1.cancel(asio::cancellation_type::terminal);
    expect([&] { return c1.ended(); }, "it ends");
    EXPECT_EQ(c1.why(), asio::error::operation_aborted);
    EXPECT_LE(c1.terms(), 2) << "it campaigns again after 100 ms, which may pass on a slow machine";
}

}  // namespace
