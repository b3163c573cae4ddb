// SPDX-License-Identifier: BSL-1.0
// with_lock: released on every way out, the body stopped when its hold is going to be lost.
#include "support/attempt.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/with_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

/// Sleeps until cancelled; says so, and passes the exception on.
asio::awaitable<void> until_cancelled(bool* cancelled) {
    asio::steady_timer never{co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max()};
    const auto [ec] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    *cancelled = ec == asio::error::operation_aborted;
    throw system_error{ec};
}

/// What with_lock threw: a code, or nothing.
template <typename Body>
asio::awaitable<error_code> outcome(const mutex& m, lock_options options, Body body) {
    try {
        co_await with_lock(m, options, body);
    } catch (const system_error& e) {
        co_return e.code();
    }
    co_return error_code{};
}

class with_lock_test : public redis_test {
protected:
    bool locked() { return raw.exists("lock"); }

    client redis{io, settings()};
    mutex m{redis, "lock", {.fenced = true}};
};

TEST_F(with_lock_test, the_body_runs_under_the_lock_and_its_result_is_returned) {
    run([&]() -> asio::awaitable<void> {
        bool held = false;
        const int answer = co_await with_lock(m, {}, [&](hold& h) -> asio::awaitable<int> {
            held = h.owns_lock() && h.fence() != 0 && locked();
            co_return 42;
        });
        EXPECT_TRUE(held);
        EXPECT_EQ(answer, 42);
        EXPECT_FALSE(locked()) << "completed before the release was confirmed";
    });
}

TEST_F(with_lock_test, a_body_without_argument_and_result_will_do) {
    run([&]() -> asio::awaitable<void> {
        bool ran = false;
        co_await with_lock(m, [&]() -> asio::awaitable<void> {
            ran = locked();
            co_return;
        });
        EXPECT_TRUE(ran);
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, a_body_with_a_name_is_copied_and_its_captures_live_as_long_as_it_runs) {
    run([&]() -> asio::awaitable<void> {
        const auto shared = std::make_shared<std::string>("what the body needs");
        asio::awaitable<std::string> running = [&] {
            auto body = [shared](hold&) -> asio::awaitable<std::string> {
                co_await asio::post(asio::use_awaitable);
                co_return *shared;
            };
            return with_lock(m, {}, body);
        }();
        const std::string text = co_await std::move(running);
        EXPECT_EQ(text, "what the body needs");
        EXPECT_EQ(shared.use_count(), 1) << "a copy of the body is left";
    });
}

TEST_F(with_lock_test, a_body_that_cannot_be_copied_is_passed_by_reference) {
    run([&]() -> asio::awaitable<void> {
        auto body = [p = std::make_unique<int>(7)](hold&) -> asio::awaitable<int> { co_return *p; };
        const int seven = co_await with_lock(m, {}, std::ref(body));
        EXPECT_EQ(seven, 7);
    });
}

TEST_F(with_lock_test, an_exception_of_the_body_comes_out_after_the_release) {
    run([&]() -> asio::awaitable<void> {
        std::string what;
        try {
            co_await with_lock(m, {}, [](hold&) -> asio::awaitable<void> {
                throw std::runtime_error{"mine"};
                co_return;
            });
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "mine");
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, an_exception_before_the_coroutine_of_the_body_comes_out_too) {
    run([&]() -> asio::awaitable<void> {
        std::string what;
        try {
            co_await with_lock(
                m, {}, [](hold&) -> asio::awaitable<void> { throw std::runtime_error{"early"}; });
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "early");
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, a_timeout_comes_out_and_the_body_never_runs) {
    run([&]() -> asio::awaitable<void> {
        const hold other = co_await m.async_lock();
        bool ran = false;
        const error_code ec =
            co_await outcome(m, {.wait = 20ms}, [&](hold&) -> asio::awaitable<void> {
                ran = true;
                co_return;
            });
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_FALSE(ran);
    });
}

TEST_F(with_lock_test, bad_options_are_refused) {
    run([&]() -> asio::awaitable<void> {
        const auto nothing_done = []() -> asio::awaitable<void> { co_return; };
        const error_code late =
            co_await outcome(m, {.lease = 1s, .stop_before = 501ms}, nothing_done);
        EXPECT_EQ(late, errc::invalid_stop_before);
        const error_code negative = co_await outcome(m, {.stop_before = -1ns}, nothing_done);
        EXPECT_EQ(negative, errc::invalid_stop_before);
        EXPECT_EQ(redis.stats().connects, 0U);
    });
}

TEST_F(with_lock_test, a_lock_taken_away_cancels_the_body) {
    run([&]() -> asio::awaitable<void> {
        bool cancelled = false;
        const error_code ec =
            co_await outcome(m, {.lease = 300ms}, [&](hold&) -> asio::awaitable<void> {
                raw.command({"DEL", "lock"});
                return until_cancelled(&cancelled);
            });
        EXPECT_TRUE(cancelled);
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_test, a_body_that_returns_in_spite_of_the_loss_does_not_count) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec =
            co_await outcome(m, {.lease = 300ms}, [&](hold& h) -> asio::awaitable<void> {
                raw.command({"DEL", "lock"});
                const auto [why] = co_await h.async_wait_lost(asio::as_tuple(asio::use_awaitable));
                EXPECT_TRUE(why);
            });
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_test, a_loss_that_only_the_release_finds_counts) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(m, {}, [&](hold&) -> asio::awaitable<void> {
            raw.command({"DEL", "lock"});
            co_return;
        });
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_test, the_own_exception_of_the_body_wins_over_the_loss) {
    run([&]() -> asio::awaitable<void> {
        std::string what;
        try {
            co_await with_lock(m, {.lease = 300ms}, [&](hold&) -> asio::awaitable<void> {
                raw.command({"DEL", "lock"});
                bool cancelled = false;
                try {
                    co_await until_cancelled(&cancelled);
                } catch (const system_error&) {
                }
                throw std::runtime_error{"mine"};
            });
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "mine");
    });
}

TEST_F(with_lock_test, a_lease_without_renewal_stops_the_body_ahead_of_its_end) {
    run([&]() -> asio::awaitable<void> {
        duration left{};
        bool owned = false;
        const lock_options options{.lease = 2s, .renew = false, .stop_before = 1s};
        const error_code ec = co_await outcome(m, options, [&](hold& h) -> asio::awaitable<void> {
            bool cancelled = false;
            try {
                co_await until_cancelled(&cancelled);
            } catch (const system_error&) {
            }
            left = h.remaining();
            owned = h.owns_lock();
        });
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_TRUE(owned) << "not ahead of the end";
        EXPECT_LE(left, 1s);
        EXPECT_FALSE(locked()) << "what is still held is released";
    });
}

TEST_F(with_lock_test, renewal_lets_the_body_go_on_past_many_leases) {
    run([&]() -> asio::awaitable<void> {
        const lock_options options{.lease = 200ms, .stop_before = 100ms};
        const error_code ec = co_await outcome(m, options, [&](hold& h) -> asio::awaitable<void> {
            const time_point first = h.valid_until();
            const bool renewed = co_await when([&] { return h.valid_until() > first + 600ms; });
            EXPECT_TRUE(renewed);
        });
        EXPECT_FALSE(ec) << ec.message();
    });
}

TEST_F(with_lock_test, a_frozen_server_stops_the_body_before_the_lease_ends) {
    run([&]() -> asio::awaitable<void> {
        bool cancelled = false;
        bool owned = false;
        const lock_options options{.lease = 2s, .stop_before = 1s};
        const error_code ec = co_await outcome(m, options, [&](hold& h) -> asio::awaitable<void> {
            server.freeze();
            try {
                co_await until_cancelled(&cancelled);
            } catch (const system_error&) {
            }
            owned = h.owns_lock();
        });
        server.thaw();
        EXPECT_TRUE(cancelled);
        EXPECT_TRUE(owned);
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_test, cancelled_while_waiting_it_leaves_nothing) {
    run([&]() -> asio::awaitable<void> {
        hold other = co_await m.async_lock();
        bool ran = false;
        const auto section = [&](hold&) -> asio::awaitable<void> {
            ran = true;
            co_return;
        };
        asio::cancellation_signal signal;
        std::optional<std::exception_ptr> end;
        asio::co_spawn(
            io, with_lock(m, {}, section),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { end = e; }));
        const bool waits = co_await when([&] { return redis.stats().waiting_now == 1; });
        EXPECT_TRUE(waits);
        signal.emit(asio::cancellation_type::terminal);
        const bool ended = co_await when([&] { return end.has_value(); });
        EXPECT_TRUE(ended);
        EXPECT_THROW(std::rethrow_exception(*end), system_error);
        EXPECT_FALSE(ran);
        co_await other.async_unlock();
        const bool free = co_await when([&] { return !locked(); });
        EXPECT_TRUE(free);
    });
}

TEST_F(with_lock_test, cancelled_while_the_body_runs_it_releases_before_it_completes) {
    run([&]() -> asio::awaitable<void> {
        bool running = false;
        bool cancelled = false;
        const auto section = [&](hold&) -> asio::awaitable<void> {
            running = true;
            return until_cancelled(&cancelled);
        };
        asio::cancellation_signal signal;
        std::exception_ptr end;
        bool free = false;
        asio::co_spawn(io, with_lock(m, {}, section),
                       asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                           end = e;
                           free = !locked();
                       }));
        const bool started = co_await when([&] { return running; });
        EXPECT_TRUE(started);
        signal.emit(asio::cancellation_type::terminal);
        const bool ended = co_await when([&] { return end != nullptr; });
        EXPECT_TRUE(ended);
        EXPECT_TRUE(cancelled);
        EXPECT_TRUE(free) << "completed before the release";
        error_code why;
        try {
            std::rethrow_exception(end);
        } catch (const system_error& e) {
            why = e.code();
        }
        EXPECT_EQ(why, asio::error::operation_aborted);
    });
}

TEST_F(with_lock_test, a_timer_may_race_with_it) {
    run([&]() -> asio::awaitable<void> {
        using namespace asio::experimental::awaitable_operators;
        bool cancelled = false;
        const auto section = [&](hold&) { return until_cancelled(&cancelled); };
        asio::steady_timer timer{io, 50ms};
        const auto first =
            co_await (with_lock(m, {}, section) || timer.async_wait(asio::use_awaitable));
        EXPECT_EQ(first.index(), 1U);
        EXPECT_TRUE(cancelled);
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, a_client_that_shuts_down_stops_the_body_in_its_drain) {
    run([&]() -> asio::awaitable<void> {
        bool cancelled = false;
        bool down = false;
        const error_code ec = co_await outcome(m, {}, [&](hold&) -> asio::awaitable<void> {
            redis.async_shutdown({.drain = 10s}, [&](error_code) { down = true; });
            return until_cancelled(&cancelled);
        });
        EXPECT_TRUE(cancelled);
        EXPECT_EQ(ec, errc::client_closed);
        const bool ended = co_await when([&] { return down; });
        EXPECT_TRUE(ended);
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, the_body_may_release_by_itself) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(
            m, {}, [&](hold& h) -> asio::awaitable<void> { co_await h.async_unlock(); });
        EXPECT_FALSE(ec) << ec.message();
        const hold moved = co_await with_lock(
            m, {}, [&](hold& h) -> asio::awaitable<hold> { co_return std::move(h); });
        EXPECT_TRUE(moved.owns_lock()) << "the body may keep the hold";
    });
}

TEST_F(with_lock_test, sections_nest_by_their_owner) {
    run([&]() -> asio::awaitable<void> {
        const owner self;
        const lock_options options{.wait = 5s, .owner = &self};
        const error_code ec = co_await outcome(m, options, [&](hold&) -> asio::awaitable<void> {
            co_await with_lock(m, options, []() -> asio::awaitable<void> { co_return; });
            EXPECT_TRUE(locked());
        });
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_test, sections_exclude_each_other_on_many_threads) {
    constexpr int each = 25;
    constexpr int sections = 8;
    int unprotected = 0;
    asio::thread_pool pool{4};
    {
        client shared{pool, settings()};
        const mutex lock{shared, "lock"};
        const auto step = [&](hold&) -> asio::awaitable<void> {
            const int seen = unprotected;
            co_await asio::post(asio::use_awaitable);
            unprotected = seen + 1;
        };
        const auto loop = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < each; ++i) {
                co_await with_lock(lock, {}, step);
            }
        };
        std::vector<std::future<void>> ends;
        for (int i = 0; i < sections; ++i) {
            ends.push_back(asio::co_spawn(pool, loop, asio::use_future));
        }
        for (std::future<void>& end : ends) {
            end.get();
        }
    }
    pool.join();
    EXPECT_EQ(unprotected, each * sections);
}

TEST_F(with_lock_test, the_context_may_go_at_any_time) {
    for (std::size_t k = 0; k < 60; ++k) {
        SCOPED_TRACE(k);
        auto context = std::make_unique<asio::io_context>();
        const auto alive = std::make_shared<int>(0);
        {
            client c{*context, settings()};
            const mutex lock{c, "lock"};
            auto section = [alive](hold&) -> asio::awaitable<void> {
                asio::steady_timer t{co_await asio::this_coro::executor, 1ms};
                co_await t.async_wait(asio::use_awaitable);
                (void)*alive;
            };
            asio::co_spawn(*context, with_lock(lock, {}, section), asio::detached);
        }
        step(*context, k, 1ms);
        context.reset();
        EXPECT_EQ(alive.use_count(), 1) << "the body is leaked";
        raw.command({"DEL", "lock"});
    }
}

}  // namespace
