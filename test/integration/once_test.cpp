// SPDX-License-Identifier: BSL-1.0
// once on a real server: a job runs once per planned time, whoever comes.
#include "integration/once_fixture.hpp"
#include "support/child_process.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <deque>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(once_test, runs_once_and_tells_who_comes_later) {
    w1.start();
    expect([&] { return w1.works(); }, "it works");
    EXPECT_FALSE(noted()) << "before its end";
    w1.end();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_FALSE(code_of(w1.error()));
    EXPECT_TRUE(w1.ran());
    EXPECT_EQ(raw.get(note_of_job), std::to_string(planned()));
    EXPECT_GT(raw.pttl(note_of_job), 3 * year);
    EXPECT_LE(raw.pttl(note_of_job), 4 * year);
    w2.start();
    expect([&] { return w2.ended(); }, "the other ends");
    EXPECT_FALSE(code_of(w2.error()));
    EXPECT_FALSE(w2.ran());
    EXPECT_EQ(w2.runs(), 0);
    EXPECT_FALSE(raw.exists("job"));
}

TEST_F(once_test, takes_each_kind_of_token_and_gives_what_the_body_returns) {
    const once job{one, "job", yearly};
    int runs = 0;
    auto body = [&](hold& h) -> asio::awaitable<int> {
        EXPECT_TRUE(h.owns_lock());
        EXPECT_GT(h.fence(), 0u);
        co_return ++runs;
    };
    run([&]() -> asio::awaitable<void> {
        std::optional<int> made = co_await job.async_run(body);
        EXPECT_EQ(made, 1);
        made = co_await job.async_run(body, asio::use_awaitable);
        EXPECT_EQ(made, std::nullopt);
        raw.must({"DEL", note_of_job});
        const auto [e, value] = co_await job.async_run({.lease = 20s}, std::ref(body), as_result);
        EXPECT_FALSE(e);
        EXPECT_EQ(value, 2);
    });
    raw.must({"DEL", note_of_job});
    std::future<std::optional<int>> f = job.async_run(body, asio::use_future);
    expect([&] { return f.wait_for(0s) == std::future_status::ready; }, "the future is ready");
    EXPECT_EQ(f.get(), 3);
}

TEST_F(once_test, who_comes_meanwhile_waits_and_then_finds_it_done) {
    set_note(planned() - year);
    w1.start();
    expect([&] { return w1.works(); }, "the first works");
    w2.start();
    w3.start({.wait = 1ms});
    expect([&] { return w3.ended() && listening("job"); }, "the second waits");
    EXPECT_EQ(code_of(w3.error()), errc::timed_out);
    w1.end();
    expect([&] { return w1.ended() && w2.ended(); }, "both end");
    EXPECT_TRUE(w1.ran());
    EXPECT_EQ(w2.runs(), 0);
    EXPECT_FALSE(w2.ran() || code_of(w2.error()));
}

TEST_F(once_test, what_throws_is_not_done_and_who_waits_runs_it) {
    w1.start();
    expect([&] { return w1.works(); }, "the first works");
    w2.start();
    expect([&] { return listening("job"); }, "the second waits");
    w1.fail();
    expect([&] { return w1.ended() && w2.works(); }, "the second works");
    EXPECT_THROW(std::rethrow_exception(w1.error()), std::runtime_error);
    EXPECT_FALSE(noted());
    w2.end();
    expect([&] { return w2.ended(); }, "it ends");
    EXPECT_TRUE(w2.ran());
    EXPECT_TRUE(noted());
}

TEST_F(once_test, a_body_that_returns_since_it_was_cancelled_is_not_done) {
    w1.start();
    expect([&] { return w1.works(); }, "it works");
    w1.cancel();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_EQ(code_of(w1.error()), asio::error::operation_aborted);
    w1.start({.lease = 3s});
    expect([&] { return w1.works(); }, "it works");
    raw.must({"DEL", "job"});
    expect([&] { return w1.ended(); }, "it is told of the loss");
    EXPECT_EQ(code_of(w1.error()), errc::lock_lost);
    EXPECT_FALSE(noted());
    EXPECT_FALSE(raw.exists("job"));
}

TEST_F(once_test, a_body_that_forgets_that_it_was_cancelled_is_not_done) {
    w1.forget();
    w1.start();
    expect([&] { return w1.works(); }, "it works");
    w1.cancel();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_EQ(code_of(w1.error()), asio::error::operation_aborted);
    w1.start({.max_hold = 4s, .stop_before = 2s});
    expect([&] { return w1.ended(); }, "it is told of its end");
    EXPECT_EQ(code_of(w1.error()), errc::lock_lost);
    EXPECT_FALSE(noted());
}

TEST_F(once_test, who_waited_into_the_next_period_came_for_the_one_before) {
    const once job{one, "job", {.period = 1h}};
    const hold h = locked(one);
    run([&]() -> asio::awaitable<void> {
        const once_due first = co_await job.async_due(h, clock::now());
        co_await job.async_set_done(h, first.planned);
        const once_due waited = co_await job.async_due(h, clock::now() - 2h);
        EXPECT_LT(waited.planned, first.planned);
        EXPECT_TRUE(waited.done);
    });
}

TEST_F(once_test, who_waits_into_the_next_period_finds_its_own_done) {
    constexpr std::int64_t period = 4000;
    constexpr once_schedule s{.period = 4s};
    bool judged = false;
    while (!judged) {
        expect([&] { return server_ms() % period < period / 4; }, "a period begins");
        const std::int64_t began = server_ms() / period;
        raw.must({"DEL", note_of_job});
        job_runner first{one, s};
        job_runner second{two, s};
        first.start();
        expect([&] { return first.works(); }, "the first works");
        second.start();
        second.end();
        judged = server_ms() - began * period < period / 2;
        expect([&] { return server_ms() / period > began; }, "the next period begins");
        first.end();
        expect([&] { return first.ended() && second.ended(); }, "both end");
        EXPECT_TRUE(first.ran());
        EXPECT_TRUE(!judged || second.runs() == 0);
        EXPECT_TRUE(!judged || raw.get(note_of_job) == std::to_string(began * period));
    }
}

TEST_F(once_test, a_runner_that_is_killed_lets_another_run_it_once) {
    child_process runner{[&](const auto& report) {
        asio::io_context own;
        client redis{own, settings("killed")};
        const once job{redis, "job", yearly};
        auto body = [&]() -> asio::awaitable<void> {
            report('R');
            asio::steady_timer never{co_await asio::this_coro::executor,
                                     asio::steady_timer::time_point::max()};
            co_await never.async_wait(asio::use_awaitable);
        };
        job.async_run(body, [](std::exception_ptr, bool) {});
        own.run_for(60s);
        return 0;
    }};
    ASSERT_TRUE(runner.reported('R'));
    w2.start();
    w3.start();
    expect([&] { return listening("job", 2); }, "others wait");
    runner.kill();
    end_lease();
    expect([&] { return w2.works() || w3.works(); }, "one of them works");
    w2.end();
    w3.end();
    expect([&] { return w2.ended() && w3.ended(); }, "both end");
    EXPECT_EQ(w2.runs() + w3.runs(), 1);
    EXPECT_NE(w2.ran(), w3.ran());
}

TEST_F(once_test, of_many_processes_one_runs_it) {
    const shared_value<std::atomic<int>> runs;
    constexpr int processes = 5;
    set_note(planned() - year);
    std::deque<child_process> children;
    for (int i = 0; i < processes; ++i) {
        children.emplace_back([&](const auto& report) {
            asio::io_context own;
            client redis{own, settings("worker")};
            const once job{redis, "job", yearly};
            auto body = [&]() -> asio::awaitable<void> {
                ++*runs;
                co_return;
            };
            raw_client mine{server.socket_path()};
            report('r');
            bool begun = false;
            while (!begun) {
                begun = mine.exists("begin");
            }
            run_test(
                own,
                [&]() -> asio::awaitable<void> {
                    co_await job.async_run(std::ref(body));
                    co_await redis.async_shutdown();
                }(),
                50s);
            return 0;
        });
    }
    raw.must({"DEL", note_of_job});
    for (child_process& c : children) {
        EXPECT_TRUE(c.reported('r'));
    }
    raw.must({"SET", "begin", "1"});
    for (child_process& c : children) {
        EXPECT_EQ(c.join(60s), 0);
    }
    EXPECT_EQ(runs->load(), 1);
}

TEST_F(once_test, the_next_period_runs_again) {
    set_note(planned() - year);
    w1.start();
    w1.end();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_TRUE(w1.ran());
    const once each_second{three, "other", {.period = 1s}};
    int runs = 0;
    auto body = [&]() -> asio::awaitable<void> {
        ++runs;
        co_return;
    };
    run([&]() -> asio::awaitable<void> {
        while (runs < 3) {
            co_await each_second.async_run(body);
        }
    });
}

TEST_F(once_test, a_clock_that_is_set_back_by_less_than_a_period_runs_nothing_again) {
    set_note(planned() + year);
    w1.start();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_FALSE(w1.ran() || code_of(w1.error()));
}

TEST_F(once_test, a_note_of_a_clock_that_was_ahead_counts_as_none) {
    set_note(planned() + 2 * year);
    w1.start();
    w1.end();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_FALSE(code_of(w1.error()));
    EXPECT_TRUE(w1.ran());
    EXPECT_EQ(raw.get(note_of_job), std::to_string(planned()));
}

TEST_F(once_test, plans_by_the_servers_clock_from_at_on) {
    const once job{one, "job", {.period = 24h, .at = 2h + 30min}};
    const hold h = locked(one);
    const auto day = 24 * hour;
    const std::int64_t before = server_ms();
    run([&]() -> asio::awaitable<void> {
        const once_due due = co_await job.async_due(h, clock::now());
        const std::int64_t planned = due.planned.time_since_epoch().count();
        EXPECT_EQ(planned % day, 2 * hour + hour / 2);
        EXPECT_LE(planned, server_ms());
        EXPECT_GT(planned, before - day);
        EXPECT_FALSE(due.done);
        co_await job.async_set_done(h, due.planned);
        const once_due after = co_await job.async_due(h, clock::now());
        EXPECT_TRUE(after.done || after.planned != due.planned);
        co_await job.async_set_done(h, due.planned - 48h);
    });
    EXPECT_GT(std::stoll(raw.get(note_of_job).value()), before - day) << "the later one stays";
}

TEST_F(once_test, a_lost_holder_notes_nothing) {
    const once job{one, "job", yearly};
    const hold h = locked(one);
    raw.must({"DEL", "job"});
    take_as_stranger(raw, "job");
    EXPECT_EQ(set_done(job, h, 1000), errc::lock_lost);
    EXPECT_FALSE(noted());
    EXPECT_FALSE(h.owns_lock());
    EXPECT_EQ(set_done(job, h, 1000), errc::lock_lost);
    EXPECT_EQ(raw.hgetall("job").begin()->first, owner_of_redisson);
}

TEST_F(once_test, a_lost_reply_changes_nothing) {
    client c{io, through()};
    job_runner w{c, yearly};
    w.start();
    expect([&] { return w.works(); }, "it works");
    wire.swallow_replies();
    w.end();
    expect([&] { return noted(); }, "it is noted");
    const auto note = raw.get(note_of_job);
    EXPECT_FALSE(w.ended());
    wire.cut();
    expect([&] { return w.ended(); }, "it ends");
    EXPECT_FALSE(code_of(w.error()));
    EXPECT_TRUE(w.ran());
    EXPECT_EQ(w.runs(), 1);
    EXPECT_EQ(raw.get(note_of_job), note);
    EXPECT_FALSE(raw.exists("job"));
}

TEST_F(once_test, what_ends_while_its_client_shuts_down_is_done) {
    w1.start();
    expect([&] { return w1.works(); }, "it works");
    bool down = false;
    one.async_shutdown({.drain = 60s}, [&](error_code) { down = true; });
    io.poll();
    w1.end();
    expect([&] { return w1.ended() && down; }, "both end");
    EXPECT_FALSE(code_of(w1.error()));
    EXPECT_TRUE(w1.ran());
    EXPECT_TRUE(noted());
}

TEST_F(once_test, a_key_that_is_no_note_is_left_alone) {
    raw.must({"HSET", note_of_job, "a", "1"});
    w1.start();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_EQ(code_of(w1.error()), errc::wrong_type);
    raw.must({"DEL", note_of_job});
    raw.must({"SET", note_of_job, "yesterday"});
    w1.start();
    expect([&] { return w1.ended(); }, "it ends");
    EXPECT_EQ(code_of(w1.error()), errc::wrong_type);
    EXPECT_EQ(w1.runs(), 0);
    EXPECT_EQ(raw.get(note_of_job), "yesterday");
    EXPECT_FALSE(raw.exists("job"));
}

TEST_F(once_test, bad_input_is_refused_before_anything_is_sent) {
    const auto refused = [&](const once_schedule& s) {
        EXPECT_THROW((once{one, "job", s}), std::invalid_argument);
    };
    refused({});
    refused({.period = 999ms});
    refused({.period = std::chrono::hours{24 * 366}});
    refused({.period = 1h, .at = -1ns});
    refused({.period = 1h, .at = 1h});
    EXPECT_THROW((once{one, "", yearly}), std::invalid_argument);
    const once job{one, "job", yearly};
    EXPECT_EQ(set_done(job, hold{}, 1000), errc::not_owner);
    hold other = locked(one, "other");
    const hold of_other = locked(two);
    const once theirs{two, "job", yearly};
    raw.reset_calls();
    EXPECT_EQ(set_done(job, other, 1000), errc::not_owner);
    EXPECT_EQ(set_done(job, of_other, 1000), errc::not_owner);
    EXPECT_EQ(set_done(theirs, of_other, 0), errc::invalid_planned_time);
    EXPECT_EQ(set_done(theirs, of_other, -1000), errc::invalid_planned_time);
    EXPECT_EQ(raw.calls("evalsha") + raw.calls("eval"), 0u);
    EXPECT_EQ(set_done(theirs, of_other, planned() + 3 * year), errc::invalid_planned_time)
        << "the server refuses it";
    other.release();
    EXPECT_EQ(set_done(job, other, 1000), errc::already_released);
    EXPECT_FALSE(noted());
}

}  // namespace
