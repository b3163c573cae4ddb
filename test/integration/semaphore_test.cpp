// SPDX-License-Identifier: BSL-1.0
// counting_semaphore on a real server.
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/counting_semaphore.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

class semaphore_test : public redis_test {
protected:
    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

    std::string left() { return raw.get("permits").value_or("none"); }
    /// Keys that keep what a request did.
    std::size_t requests() { return raw.must({"KEYS", "conch_once:{permits}:*"}).items.size(); }

    client redis{io, push_only()};
    const counting_semaphore s{redis, "permits"};
};

TEST_F(semaphore_test, permits_are_set_taken_and_released) {
    run([&]() -> asio::awaitable<void> {
        const bool first = co_await s.async_try_set(3);
        const bool second = co_await s.async_try_set(9);
        EXPECT_TRUE(first);
        EXPECT_FALSE(second);
        co_await s.async_acquire(2);
        EXPECT_EQ(left(), "1");
        const bool two = co_await s.async_try_acquire(2);
        EXPECT_FALSE(two);
        const bool one = co_await s.async_try_acquire();
        EXPECT_TRUE(one);
        co_await s.async_release(3);
        const std::int64_t all = co_await s.async_available();
        EXPECT_EQ(all, 3);
        co_await s.async_add(-5);
        const std::int64_t none = co_await s.async_available();
        EXPECT_EQ(none, -2);
        co_await s.async_set(7);
        const std::int64_t drained = co_await s.async_drain();
        EXPECT_EQ(drained, 7);
        EXPECT_EQ(left(), "0");
    });
}

TEST_F(semaphore_test, a_release_keeps_the_time_to_live_that_somebody_set) {
    run([&]() -> asio::awaitable<void> {
        raw.must({"SET", "permits", "2", "PX", "60000"});
        co_await s.async_acquire();
        co_await s.async_release();
        co_await s.async_drain();
        EXPECT_GT(raw.pttl("permits"), 50'000);
    });
}

TEST_F(semaphore_test, a_waiter_of_another_client_is_woken_by_a_message) {
    client other{io, push_only("other")};
    const counting_semaphore of_other{other, "permits"};
    run([&]() -> asio::awaitable<void> {
        bool done = false;
        of_other.async_acquire(2, [&](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            done = true;
        });
        const bool listens =
            co_await when([&] { return raw.subscribers("redisson_sc:{permits}") == 1; });
        EXPECT_TRUE(listens);
        co_await s.async_release();
        EXPECT_FALSE(done);
        co_await s.async_release();
        const bool woken = co_await when([&] { return done; });
        EXPECT_TRUE(woken);
        EXPECT_EQ(left(), "0");
        EXPECT_GE(other.stats().wakes_by_message, 1u);
        EXPECT_EQ(other.stats().wakes_by_poll, 0u);
    });
}

TEST_F(semaphore_test, a_wait_ends_in_time_and_takes_nothing) {
    run([&]() -> asio::awaitable<void> {
        const auto [ec] = co_await s.async_acquire(1, {.wait = 50ms}, as_result);
        EXPECT_EQ(ec, errc::timed_out);
        const auto [at_once] = co_await s.async_acquire({.wait = 0s}, as_result);
        EXPECT_EQ(at_once, errc::timed_out);
        co_await s.async_release();
        EXPECT_EQ(left(), "1");
    });
}

TEST_F(semaphore_test, numbers_out_of_range_are_refused_and_change_nothing) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    run([&]() -> asio::awaitable<void> {
        co_await s.async_set(most);
        for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, most + 1}) {
            const auto [taken] = co_await s.async_acquire(n, as_result);
            const auto [freed] = co_await s.async_release(n, as_result);
            EXPECT_EQ(taken, errc::invalid_permits) << n;
            EXPECT_EQ(freed, errc::invalid_permits) << n;
        }
        const auto [zero] = co_await s.async_add(0, as_result);
        const auto [negative] = co_await s.async_set(-1, as_result);
        const auto [huge] =
            co_await s.async_release(std::numeric_limits<std::uint64_t>::max(), as_result);
        const auto [sum] = co_await s.async_release(1, as_result);
        for (const error_code ec : {zero, negative, huge, sum}) {
            EXPECT_EQ(ec, errc::invalid_permits);
        }
        EXPECT_EQ(left(), std::to_string(most));
    });
}

TEST_F(semaphore_test, a_key_of_another_kind_is_an_error_and_stays) {
    run([&]() -> asio::awaitable<void> {
        for (const bool text : {true, false}) {
            raw.must({"DEL", "permits"});
            raw.must(text ? raw_client::words{"SET", "permits", "words"}
                          : raw_client::words{"RPUSH", "permits", "words"});
            const auto [taken] = co_await s.async_acquire(as_result);
            const auto [freed] = co_await s.async_release(as_result);
            const auto [set] = co_await s.async_set(1, as_result);
            const auto [drained, n] = co_await s.async_drain(as_result);
            const auto [looked, m] = co_await s.async_available(as_result);
            for (const error_code ec : {taken, freed, set, drained, looked}) {
                EXPECT_EQ(ec, errc::wrong_type) << text;
            }
        }
        EXPECT_EQ(raw.must({"LLEN", "permits"}).number, 1);
        EXPECT_EQ(requests(), 0u);
    });
}

TEST_F(semaphore_test, a_bad_name_is_refused_at_once) {
    EXPECT_THROW((counting_semaphore{redis, ""}), std::invalid_argument);
    EXPECT_THROW((counting_semaphore{redis, std::string(65'537, 'n')}), std::invalid_argument);
}

TEST_F(semaphore_test, a_future_and_a_callback_get_the_same) {
    blocking_client own{settings("blocking")};
    blocking_semaphore b{own, "permits"};
    EXPECT_TRUE(b.try_set(2));
    b.acquire();
    EXPECT_TRUE(b.try_acquire());
    EXPECT_FALSE(b.try_acquire());
    b.release(2);
    b.add(1);
    EXPECT_EQ(b.available(), 3);
    EXPECT_EQ(b.drain(), 3);
    b.set(1);
    counting_semaphore{own.async(), "permits"}.async_acquire(asio::use_future).get();
    try {
        b.acquire(1, {.wait = 10ms});
        ADD_FAILURE() << "there was none";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), errc::timed_out);
        EXPECT_NE(std::string{e.what()}.find("permits"), std::string::npos) << e.what();
    }
}

TEST_F(semaphore_test, a_cancelled_waiter_leaves_nothing_behind) {
    asio::cancellation_signal stop;
    error_code ended;
    run([&]() -> asio::awaitable<void> {
        s.async_acquire(
            asio::bind_cancellation_slot(stop.slot(), [&](error_code ec) { ended = ec; }));
        const bool listens =
            co_await when([&] { return raw.subscribers("redisson_sc:{permits}") == 1; });
        EXPECT_TRUE(listens);
        stop.emit(asio::cancellation_type::terminal);
        const bool gone =
            co_await when([&] { return ended && raw.subscribers("redisson_sc:{permits}") == 0; });
        EXPECT_TRUE(gone);
        EXPECT_EQ(ended, asio::error::operation_aborted);
        co_await s.async_release();
        EXPECT_EQ(left(), "1");
    });
}

/// Behind a wire that loses what it carries.
class lost_permits : public semaphore_test {
protected:
    void SetUp() override {
        run([&]() -> asio::awaitable<void> {
            // The server has each script then.
            co_await far.async_set(6);
            co_await far.async_acquire();
        });
    }

    proxy wire{server.socket_path()};
    client through{io, settings_for(wire.socket_path())};
    const counting_semaphore far{through, "permits"};
};

TEST_F(lost_permits, each_call_whose_answer_is_lost_is_done_once) {
    run([&]() -> asio::awaitable<void> {
        int done = 0;
        const auto count = [&](error_code ec, auto...) {
            EXPECT_FALSE(ec) << ec.message();
            ++done;
        };
        const auto lose_answer = [&](const std::string& after) -> asio::awaitable<void> {
            const int before = done;
            const bool ran = co_await when([&] { return left() == after; });
            EXPECT_TRUE(ran) << after;
            wire.cut();
            const bool answered = co_await when([&] { return done == before + 1; });
            EXPECT_TRUE(answered) << after;
            EXPECT_EQ(left(), after);
        };
        wire.swallow_replies();
        far.async_acquire(2, count);
        co_await lose_answer("3");
        wire.swallow_replies();
        far.async_release(4, count);
        co_await lose_answer("7");
        wire.swallow_replies();
        far.async_add(-2, count);
        co_await lose_answer("5");
        wire.swallow_replies();
        far.async_set(9, count);
        co_await lose_answer("9");
        wire.swallow_replies();
        far.async_drain([&](error_code ec, std::int64_t n) {
            EXPECT_EQ(n, 9);
            count(ec);
        });
        co_await lose_answer("0");
        raw.must({"DEL", "permits"});
        wire.swallow_replies();
        far.async_try_set(6, [&](error_code ec, bool set) {
            EXPECT_TRUE(set);
            count(ec);
        });
        co_await lose_answer("6");
        EXPECT_GE(through.stats().in_doubt, 6u);
    });
}

TEST_F(lost_permits, each_call_that_was_lost_on_its_way_is_done_once) {
    run([&]() -> asio::awaitable<void> {
        int done = 0;
        const auto count = [&](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            ++done;
        };
        const auto lose = [&](auto start) -> asio::awaitable<void> {
            const auto before = through.stats().script_calls;
            wire.swallow_requests();
            start();
            const bool written =
                co_await when([&] { return through.stats().script_calls > before; });
            EXPECT_TRUE(written);
            wire.cut();
        };
        co_await lose([&] { far.async_acquire(2, count); });
        const bool taken = co_await when([&] { return done == 1; });
        EXPECT_TRUE(taken);
        co_await lose([&] { far.async_release(4, count); });
        const bool freed = co_await when([&] { return done == 2; });
        EXPECT_TRUE(freed);
        EXPECT_EQ(left(), "7");
    });
}

TEST_F(lost_permits, who_gives_up_while_its_answer_is_lost_has_taken_nothing) {
    run([&]() -> asio::awaitable<void> {
        for (const bool ran : {true, false}) {
            asio::cancellation_signal stop;
            error_code ended;
            const auto before = through.stats().script_calls;
            ran ? wire.swallow_replies() : wire.swallow_requests();
            far.async_acquire(
                2, asio::bind_cancellation_slot(stop.slot(), [&](error_code ec) { ended = ec; }));
            const bool written = co_await when(
                [&] { return ran ? left() == "3" : through.stats().script_calls > before; });
            EXPECT_TRUE(written);
            stop.emit(asio::cancellation_type::terminal);
            const bool told = co_await when([&] { return ended.failed(); });
            EXPECT_TRUE(told) << "at once";
            EXPECT_EQ(ended, asio::error::operation_aborted);
            wire.cut();
            co_await far.async_available();
            const bool back = co_await when([&] { return left() == "5"; });
            EXPECT_TRUE(back) << left();
        }
        EXPECT_EQ(through.stats().compensations, 1u);
    });
}

TEST_F(lost_permits, a_client_that_shuts_down_gives_back_what_nobody_got) {
    run([&]() -> asio::awaitable<void> {
        wire.swallow_replies();
        error_code ended;
        far.async_acquire(2, [&](error_code ec) { ended = ec; });
        const bool ran = co_await when([&] { return left() == "3"; });
        EXPECT_TRUE(ran);
        wire.cut();
        co_await through.async_shutdown({.drain = 5s});
        EXPECT_EQ(left(), "5");
        EXPECT_TRUE(ended == errc::client_closed || !ended);
    });
}

}  // namespace
