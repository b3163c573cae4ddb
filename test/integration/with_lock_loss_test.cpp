// SPDX-License-Identifier: BSL-1.0
// with_lock: the body is stopped when its hold is going to be lost, or when the caller is
// cancelled.
#include "integration/with_lock_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace conch;
using namespace conch::test;

using with_lock_loss_test = with_lock_test;

// What it says.
template <typename Body>
asio::awaitable<std::string> words(const mutex& m, lock_options options, Body body) {
    try {
        co_await with_lock(m, options, body);
    } catch (const system_error& e) {
        co_return e.what();
    }
    co_return "";
}

// The server forgets this key while a body runs, which is cancelled therefore.
asio::awaitable<void> expect_cancelled_without(raw_client& raw, const mutex& m,
                                               std::string_view key) {
    bool cancelled = false;
    const auto body = [&](hold& h) -> asio::awaitable<void> {
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(raw.must({"DEL", std::string{key}}).number, 1) << key;
        return until_cancelled(&cancelled);
    };
    const lock_options brief{.lease = 300ms};
    const std::string said = co_await words(m, brief, body);
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(said, m.label() + " was lost: " + make_error_code(errc::lock_lost).message());
}

TEST_F(with_lock_loss_test, what_is_thrown_names_the_lock_and_the_cause) {
    run([&]() -> asio::awaitable<void> {
        const std::string at_server = "lock \"lock\" at " + settings().url();
        EXPECT_EQ(m.label(), at_server);
        bool cancelled = false;
        const auto body = [&](hold&) { return until_cancelled(&cancelled); };
        const lock_options brief{.lease = 2s, .renew = false, .stop_before = 1s};
        const std::string lost = co_await words(m, brief, body);
        EXPECT_EQ(lost, at_server + " was going to be lost: " +
                            make_error_code(errc::lease_expired).message());
        const hold other = co_await m.async_lock({}, asio::use_awaitable);
        const lock_options impatient{.wait = 10ms};
        const std::string late = co_await words(m, impatient, body);
        EXPECT_EQ(late, at_server + ": " + make_error_code(errc::timed_out).message());
    });
}

TEST_F(with_lock_loss_test, a_lock_taken_away_cancels_the_body) {
    run([&]() -> asio::awaitable<void> { co_await expect_cancelled_without(raw, m, "lock"); });
}

TEST_F(with_lock_loss_test, a_permit_taken_away_cancels_the_body) {
    raw.must({"SET", "permits", "2"});
    run([&]() -> asio::awaitable<void> {
        const mutex permit = semaphore{redis, "permits"}.permits(1);
        co_await expect_cancelled_without(raw, permit, "{permits}:timeout");
    });
}

TEST_F(with_lock_loss_test, a_readers_hold_taken_away_cancels_its_body_and_no_other_reader) {
    client other{io, settings("other")};
    run([&]() -> asio::awaitable<void> {
        const shared_mutex of_other{other, "book"};
        const hold beside = co_await of_other.async_lock_shared();
        const mutex reader = shared_mutex{redis, "book"}.reader();
        const std::string timeout = "{book}:" + redis.id() + ":1:rwlock_timeout:1";
        co_await expect_cancelled_without(raw, reader, timeout);
        EXPECT_EQ(raw.hlen("book"), 2) << "the mode, and the other reader";
        EXPECT_TRUE(beside.owns_lock());
    });
}

TEST_F(with_lock_loss_test, one_of_several_locks_taken_away_cancels_the_body) {
    run([&]() -> asio::awaitable<void> {
        const multi_lock both{m, mutex{redis, "other"}};
        co_await expect_cancelled_without(raw, both, "other");
        const bool free = co_await when([&] { return !locked(); });
        EXPECT_TRUE(free) << "the other one is given back";
    });
}

TEST_F(with_lock_loss_test, a_body_that_returns_in_spite_of_the_loss_does_not_count) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec =
            co_await failure(m, {.lease = 300ms}, [&](hold& h) -> asio::awaitable<void> {
                raw.command({"DEL", "lock"});
                const auto [why] = co_await h.async_wait_lost(asio::as_tuple(asio::use_awaitable));
                EXPECT_TRUE(why);
            });
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_loss_test, a_loss_that_only_the_release_finds_counts) {
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await failure(m, {}, [&](hold&) -> asio::awaitable<void> {
            raw.command({"DEL", "lock"});
            co_return;
        });
        EXPECT_EQ(ec, errc::lock_lost);
    });
}

TEST_F(with_lock_loss_test, a_short_max_hold_leaves_the_body_most_of_it) {
    run([&]() -> asio::awaitable<void> {
        duration ran{};
        const lock_options options{.max_hold = 1s};
        const error_code ec = co_await failure(m, options, [&](hold&) -> asio::awaitable<void> {
            const time_point begun = clock::now();
            bool cancelled = false;
            try {
                co_await until_cancelled(&cancelled);
            } catch (const system_error&) {
            }
            ran = clock::now() - begun;
        });
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_GT(ran, 700ms) << "stopped too early";
    });
}

TEST_F(with_lock_loss_test, a_full_client_takes_no_lock_away) {
    config small = settings();
    small.max_pending = 1;
    client full{io, small};
    const mutex lock{full, "lock"};
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await failure(lock, {}, [&](hold& h) -> asio::awaitable<void> {
            EXPECT_TRUE(h.owns_lock());
            co_await asio::post(asio::use_awaitable);
        });
        EXPECT_FALSE(ec) << ec.message();
    });
}

TEST_F(with_lock_loss_test, a_body_that_ends_in_the_drain_has_its_result) {
    run([&]() -> asio::awaitable<void> {
        const int answer = co_await with_lock(m, {}, [&](hold&) -> asio::awaitable<int> {
            bool cancelled = false;
            redis.async_shutdown({.drain = 10s}, [](error_code) {});
            try {
                co_await until_cancelled(&cancelled);
            } catch (const system_error&) {
            }
            co_return cancelled ? 42 : 0;
        });
        EXPECT_EQ(answer, 42);
    });
}

TEST_F(with_lock_loss_test, the_own_exception_of_the_body_wins_over_the_loss) {
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

TEST_F(with_lock_loss_test, a_lease_without_renewal_stops_the_body_ahead_of_its_end) {
    run([&]() -> asio::awaitable<void> {
        duration left{};
        bool owned = false;
        const lock_options options{.lease = 2s, .renew = false, .stop_before = 1s};
        const error_code ec = co_await failure(m, options, [&](hold& h) -> asio::awaitable<void> {
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

TEST_F(with_lock_loss_test, renewal_lets_the_body_go_on_past_many_leases) {
    run([&]() -> asio::awaitable<void> {
        const lock_options options{.lease = 200ms, .stop_before = 100ms};
        const error_code ec = co_await failure(m, options, [&](hold& h) -> asio::awaitable<void> {
            const time_point first = h.valid_until();
            const bool renewed = co_await when([&] { return h.valid_until() > first + 600ms; });
            EXPECT_TRUE(renewed);
        });
        EXPECT_FALSE(ec) << ec.message();
    });
}

TEST_F(with_lock_loss_test, a_frozen_server_stops_the_body_before_the_lease_ends) {
    run([&]() -> asio::awaitable<void> {
        bool cancelled = false;
        bool owned = false;
        const lock_options options{.lease = 2s, .stop_before = 1s};
        const error_code ec = co_await failure(m, options, [&](hold& h) -> asio::awaitable<void> {
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

TEST_F(with_lock_loss_test, cancelled_while_waiting_it_leaves_nothing) {
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

TEST_F(with_lock_loss_test, cancelled_while_the_body_runs_it_releases_before_it_completes) {
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

TEST_F(with_lock_loss_test, a_timer_may_race_with_it) {
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

TEST_F(with_lock_loss_test, a_body_may_end_by_itself_in_a_drain) {
    run([&]() -> asio::awaitable<void> {
        bool down = false;
        bool told = false;
        const auto section = [&](hold& h) -> asio::awaitable<void> {
            h.async_wait_lost([&](error_code) { told = true; });
            redis.async_shutdown({.drain = 60s}, [&](error_code) { down = true; });
            co_await when([&] { return told; });
            co_await asio::post(asio::use_awaitable);
            const auto state = co_await asio::this_coro::cancellation_state;
            EXPECT_EQ(state.cancelled(), asio::cancellation_type::none);
        };
        const error_code ec = co_await failure(m, {}, section);
        EXPECT_EQ(ec, error_code{});
        EXPECT_TRUE(told);
        const bool ended = co_await when([&] { return down; });
        EXPECT_TRUE(ended);
        EXPECT_FALSE(locked());
    });
}

TEST_F(with_lock_loss_test, a_client_that_shuts_down_stops_the_body_before_its_drain_ends) {
    run([&]() -> asio::awaitable<void> {
        bool cancelled = false;
        bool down = false;
        error_code lost;
        const error_code ec = co_await failure(m, {}, [&](hold& h) -> asio::awaitable<void> {
            h.async_wait_lost([&](error_code why) { lost = why; });
            redis.async_shutdown({.drain = 2s}, [&](error_code) { down = true; });
            return until_cancelled(&cancelled);
        });
        EXPECT_TRUE(cancelled);
        EXPECT_EQ(lost, errc::client_closed) << "who watches without a time is told at once";
        EXPECT_EQ(ec, errc::client_closed);
        const bool ended = co_await when([&] { return down; });
        EXPECT_TRUE(ended);
        EXPECT_FALSE(locked());
    });
}

}  // namespace
