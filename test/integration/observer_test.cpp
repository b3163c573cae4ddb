// SPDX-License-Identifier: BSL-1.0
// Observer and log on a real client: what they may do in a call, and what they never get to see.
#include "support/redis_test.hpp"

#include <conch/guarded.hpp>
#include <conch/leader.hpp>
#include <conch/metrics.hpp>
#include <conch/observer.hpp>
#include <conch/once.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// Starts another acquire out of each of its calls.
class busy_observer final : public observer {
public:
    void waited(const wait_span& w) noexcept override {
        spans.push_back("waited for " + std::string{w.name});
        if (target && w.name != "other") {
            target->async_lock([this](error_code ec, hold h) {
                ++(ec ? failures : grants);
                h.release();
            });
        }
    }
    void held(const hold_span& h) noexcept override {
        spans.push_back("held " + std::string{h.name});
    }

    const mutex* target = nullptr;
    int grants = 0;
    int failures = 0;
    std::vector<std::string> spans{};
};

/// Knows callers by their threads.
class caller_observer final : public observer {
public:
    std::shared_ptr<const void> caller_context() noexcept override {
        return context = std::make_shared<const std::thread::id>(std::this_thread::get_id());
    }
    void wait_began(const wait_span& w) noexcept override { note(w); }
    void waited(const wait_span& w) noexcept override { note(w); }

    void note(const wait_span& w) {
        callers.push_back(w.caller ? *static_cast<const std::thread::id*>(w.caller)
                                   : std::thread::id{});
    }
    std::shared_ptr<const std::thread::id> context{};
    std::vector<std::thread::id> callers{};
};

class observer_test : public redis_test {
protected:
    config observed_by(std::shared_ptr<observer> o) {
        config c = settings();
        c.observer = std::move(o);
        return c;
    }
    config observed() { return observed_by(told); }
    std::shared_ptr<busy_observer> told = std::make_shared<busy_observer>();
};

TEST_F(observer_test, may_start_operations) {
    client redis{io, observed()};
    const mutex m{redis, "lock"};
    const mutex other{redis, "other"};
    told->target = &other;
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock();
        co_await h.async_unlock();
    });
    EXPECT_TRUE(run_until(io, [&] { return told->spans.size() == 4; }));
    EXPECT_EQ(told->grants, 1);
    EXPECT_EQ(told->failures, 0);
    EXPECT_EQ(told->spans[0], "waited for lock");
}

TEST_F(observer_test, knows_the_caller_of_a_wait_from_its_call_to_its_answer) {
    const auto callers = std::make_shared<caller_observer>();
    client redis{io, observed_by(callers)};
    const mutex m{redis, "lock"};
    bool granted = false;
    std::thread caller{[&] { m.async_lock([&](error_code, hold) { granted = true; }); }};
    const std::thread::id there = caller.get_id();
    caller.join();
    EXPECT_EQ(callers->context.use_count(), 2) << "nobody keeps it for the wait";
    ASSERT_TRUE(run_until(io, [&] { return granted; }));
    EXPECT_EQ(callers->callers, (std::vector<std::thread::id>{there, there}));
    EXPECT_EQ(callers->context.use_count(), 1) << "it is kept for longer than the wait";
}

// What takes a lock for a body acquires it on a strand, when the caller has gone on.
TEST_F(observer_test, knows_the_caller_of_whatever_runs_a_body_under_a_lock) {
    const auto callers = std::make_shared<caller_observer>();
    client redis{io, observed_by(callers)};
    const mutex m{redis, "lock"};
    const once job{redis, "job", {.period = 1h}};
    const leader lead{redis, "lead"};
    int ended = 0;
    const auto done = [&](const std::exception_ptr& e, auto&&...) { ended += e ? 0 : 1; };
    const auto body = [](hold&) -> asio::awaitable<void> { co_return; };
    auto update = guarded(redis, "update", []() -> asio::awaitable<void> { co_return; });
    const auto start = [&](asio::awaitable<void> a) { asio::co_spawn(io, std::move(a), done); };
    const std::vector<std::function<void()>> all{
        [&] { start(with_lock(m, body)); },
        [&] { start(update()); },
        [&] { job.async_run(body, done); },
        [&] { lead.async_lead(body, done); },
    };
    for (const auto& begin : all) {
        callers->callers.clear();
        std::thread caller{begin};
        const std::thread::id there = caller.get_id();
        caller.join();
        const int before = ended;
        ASSERT_TRUE(run_until(io, [&] { return ended == before + 1; }));
        EXPECT_EQ(callers->callers, (std::vector<std::thread::id>{there, there}))
            << &begin - all.data();
    }
}

TEST_F(observer_test, the_later_campaigns_of_a_leader_have_no_caller) {
    const auto callers = std::make_shared<caller_observer>();
    client redis{io, observed_by(callers)};
    const leader lead{redis, "lead"};
    int terms = 0;
    bool ended = false;
    lead.async_lead(
        {.lease = 1s, .again = true},
        [&]() -> asio::awaitable<void> {
            if (++terms == 1) {
                raw.must({"DEL", "lead"});
                asio::steady_timer forever{io, asio::steady_timer::time_point::max()};
                co_await forever.async_wait(asio::use_awaitable);
            }
        },
        [&](const std::exception_ptr&) { ended = true; });
    ASSERT_TRUE(run_until(io, [&] { return ended; }));
    EXPECT_EQ(terms, 2);
    const std::thread::id here = std::this_thread::get_id();
    const std::thread::id none{};
    EXPECT_EQ(callers->callers, (std::vector<std::thread::id>{here, here, none, none}));
}

TEST_F(observer_test, is_not_asked_for_a_caller_that_no_wait_would_know) {
    const auto callers = std::make_shared<caller_observer>();
    client redis{io, observed_by(callers)};
    const quorum_mutex m{std::vector{std::cref(redis)}, "lock"};
    run([&]() -> asio::awaitable<void> { const hold h = co_await m.async_lock(); });
    EXPECT_EQ(callers->context, nullptr);
    EXPECT_EQ(callers->callers, std::vector<std::thread::id>(2)) << "its member waited";
}

TEST_F(observer_test, is_told_of_the_holds_that_a_client_leaves) {
    {
        client redis{io, observed()};
        const mutex m{redis, "lock"};
        hold h;
        run([&]() -> asio::awaitable<void> { h = co_await m.async_lock(); });
        h.detach();
    }
    io.restart();
    io.run();
    EXPECT_EQ(told->spans, (std::vector<std::string>{"waited for lock", "held lock"}));
}

TEST_F(observer_test, may_outlive_its_client_and_the_context) {
    {
        asio::io_context own;
        client redis{own, observed()};
        const mutex m{redis, "lock"};
        m.async_lock([](error_code, hold) { FAIL() << "the context ran"; });
    }
    EXPECT_EQ(told.use_count(), 1) << "the client is still there";
}

TEST_F(observer_test, the_gauges_of_connections_follow_a_server_that_stops_and_starts) {
    const auto counted = std::make_shared<metrics>();
    const auto show = [&](std::uint64_t up, std::uint64_t down) {
        return run_until(io, [&] {
            const metrics_snapshot s = counted->snapshot();
            return s.connections_up == up && s.connections_down == down;
        });
    };
    config c = settings();
    c.observer = counted;
    {
        client redis{io, c};
        EXPECT_TRUE(show(0, 0)) << "nothing was asked of it";
        const mutex m{redis, "lock"};
        run([&]() -> asio::awaitable<void> {
            const hold h = co_await m.async_lock();
            const metrics_snapshot s = counted->snapshot();
            EXPECT_EQ(s.connections_up, 1U);
        });
        server.kill();
        EXPECT_TRUE(show(0, 1));
        server.start();
        raw.reconnect();
        EXPECT_TRUE(show(1, 0));
    }
    EXPECT_TRUE(show(0, 0)) << "the client is gone";
}

TEST_F(observer_test, no_gauge_of_connections_outlives_the_context) {
    const auto counted = std::make_shared<metrics>();
    config c = settings();
    c.observer = counted;
    server.kill();
    {
        asio::io_context own;
        client redis{own, c};
        const mutex m{redis, "lock"};
        m.async_lock([](error_code, hold) { FAIL() << "the context ended"; });
        EXPECT_TRUE(run_until(own, [&] { return counted->snapshot().connections_down == 1; }));
    }
    EXPECT_EQ(counted->snapshot().connections_down, 0U);
    server.start();
    raw.reconnect();
}

class secret_test : public redis_test {
protected:
    explicit secret_test(std::vector<std::string> more = {})
        : redis_test{{.arguments = with(
                          {"--user", "app", "on", ">s3cret-word", "~*", "allchannels", "+@all"},
                          std::move(more))}} {}

    static std::vector<std::string> with(std::vector<std::string> all,
                                         std::vector<std::string> more) {
        std::move(more.begin(), more.end(), std::back_inserter(all));
        return all;
    }

    /// All that a client with this password says, at the lowest level, over a whole life: the
    /// handshake, locks, a server that goes away and comes back.
    std::string said(const std::string& password) {
        // Shared with the sink: the client goes on in the background, and its log with it.
        const auto all = std::make_shared<std::string>();
        config c = settings();
        c.username = "app";
        c.password = password;
        c.least_log_level = log_level::debug;
        c.log = [all](log_level, std::string_view line) { all->append(line).append("\n"); };
        client redis{io, c};
        const mutex m{redis, "lock"};
        error_code ec;
        m.async_lock({.wait = 2s}, [&](error_code e, hold) { ec = e; });
        EXPECT_TRUE(run_until(io, [&] { return redis.stats().waits == 1; }));
        *all += ec.message() + redis.last_server_error();
        server.kill();
        server.start();
        m.async_lock({.wait = 2s}, [&](error_code e, hold) { ec = e; });
        EXPECT_TRUE(run_until(io, [&] { return redis.stats().waits == 2; }));
        return *all + ec.message() + redis.last_server_error();
    }
};

TEST_F(secret_test, a_right_password_is_in_no_line) {
    const std::string all = said("s3cret-word");
    EXPECT_NE(all.find("lock"), std::string::npos) << "nothing was logged: " << all;
    EXPECT_EQ(all.find("s3cret"), std::string::npos) << all;
}

TEST_F(secret_test, a_wrong_password_is_in_no_line) {
    const std::string all = said("wr0ng-word");
    EXPECT_NE(all.find("WRONGPASS"), std::string::npos) << all;
    EXPECT_EQ(all.find("wr0ng"), std::string::npos) << all;
}

// Such a server repeats what it was given: HELLO 3 AUTH and the rest.
class no_hello_test : public secret_test {
protected:
    no_hello_test() : secret_test{{"--rename-command", "HELLO", ""}} {}
};

TEST_F(no_hello_test, a_password_is_in_no_line_where_the_server_does_not_know_the_command) {
    const std::string all = said("s3cret-word");
    EXPECT_NE(all.find("unknown command"), std::string::npos) << all;
    EXPECT_EQ(all.find("s3cret"), std::string::npos) << all;
}

}  // namespace
