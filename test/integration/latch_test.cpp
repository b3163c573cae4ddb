// SPDX-License-Identifier: BSL-1.0
// latch on a real server.
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/blocking.hpp>
#include <conch/latch.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

class latch_test : public redis_test {
protected:
    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
    static inline const std::string channel = "redisson_countdownlatch__channel__{start}";

    std::string count() { return raw.get("start").value_or("none"); }
    asio::awaitable<void> somebody_listens() {
        const bool listens = co_await when([&] { return raw.subscribers(channel) == 1; });
        EXPECT_TRUE(listens);
    }

    client redis{io, push_only()};
    client other{io, push_only("other")};
    const latch l{redis, "start"};
    const latch of_other{other, "start"};
};

TEST_F(latch_test, it_is_set_once_and_open_at_zero) {
    run([&]() -> asio::awaitable<void> {
        co_await l.async_wait();  // not set: open
        const bool first = co_await l.async_try_set_count(3);
        const bool second = co_await of_other.async_try_set_count(9);
        EXPECT_TRUE(first);
        EXPECT_FALSE(second);
        co_await of_other.async_count_down();
        EXPECT_EQ(count(), "2");
        const std::int64_t left = co_await l.async_count();
        EXPECT_EQ(left, 2);
        const auto [closed] = co_await l.async_wait({.wait = 0s}, as_result);
        EXPECT_EQ(closed, errc::timed_out);
        co_await l.async_count_down(2);
        EXPECT_EQ(count(), "none");
        co_await l.async_wait();
        const bool again = co_await l.async_try_set_count(1);
        EXPECT_TRUE(again);
    });
}

TEST_F(latch_test, what_is_beyond_zero_is_ignored_and_it_opens_once) {
    raw_client heard{server.socket_path()};
    heard.subscribe(channel);
    const auto next = [&] { return heard.receive().items.at(2).text; };
    run([&]() -> asio::awaitable<void> {
        co_await l.async_count_down(5);
        EXPECT_EQ(count(), "none");
        const bool none = co_await l.async_try_set_count(0);
        EXPECT_TRUE(none);
        EXPECT_EQ(count(), "none");
        co_await l.async_try_set_count(2);
        co_await l.async_count_down(5);
        co_await l.async_count_down(5);
        EXPECT_EQ(count(), "none");
        EXPECT_EQ(next(), "1");
        EXPECT_EQ(next(), "0");
        co_await l.async_try_set_count(7);
        EXPECT_EQ(next(), "1") << "and nothing between";
    });
}

TEST_F(latch_test, waiters_are_let_go_by_a_message_though_it_is_set_again_at_once) {
    run([&]() -> asio::awaitable<void> {
        co_await l.async_try_set_count(1);
        int done = 0;
        for (int i = 0; i < 100; ++i) {
            of_other.async_wait([&](error_code ec) {
                EXPECT_FALSE(ec) << ec.message();
                ++done;
            });
        }
        co_await somebody_listens();
        co_await of_other.async_count();  // the question behind the subscription was answered
        const auto reads = raw.calls("get");
        raw.must({"EVAL",
                  "redis.call('del', KEYS[1]) redis.call('publish', ARGV[1], '0') "
                  "redis.call('set', KEYS[1], 5) redis.call('publish', ARGV[1], '1')",
                  "1", "start", channel});
        const bool woken = co_await when([&] { return done == 100; });
        EXPECT_TRUE(woken) << done;
        EXPECT_EQ(raw.calls("get"), reads) << "nobody asked";
        EXPECT_EQ(count(), "5");
    });
}

TEST_F(latch_test, a_waiter_polls_where_no_message_comes) {
    config c = settings("polls");
    c.max_poll_interval = 100ms;
    client polls{io, c};
    run([&]() -> asio::awaitable<void> {
        co_await l.async_try_set_count(1);
        bool done = false;
        latch{polls, "start"}.async_wait([&](error_code) { done = true; });
        co_await somebody_listens();
        raw.must({"DEL", "start"});
        const bool woken = co_await when([&] { return done; });
        EXPECT_TRUE(woken);
    });
}

TEST_F(latch_test, numbers_out_of_range_and_other_keys_are_errors_that_change_nothing) {
    run([&]() -> asio::awaitable<void> {
        const auto [negative, a] = co_await l.async_try_set_count(-1, as_result);
        const auto [huge, b] = co_await l.async_try_set_count(std::uint64_t{1} << 31, as_result);
        const auto [zero] = co_await l.async_count_down(0, as_result);
        for (const error_code ec : {negative, huge, zero}) {
            EXPECT_EQ(ec, errc::invalid_permits);
        }
        EXPECT_EQ(raw.dbsize(), 0);
        const std::vector<raw_client::words> others{
            {"RPUSH", "start", "words"},  {"SET", "start", "words"}, {"SET", "start", ""},
            {"SET", "start", "2 pieces"}, {"SET", "start", "1.5"},   {"SET", "start", "0x10"}};
        for (const raw_client::words& made_by : others) {
            SCOPED_TRACE(made_by[0] + ' ' + made_by[2]);
            raw.must({"DEL", "start"});
            raw.must(made_by);
            const std::string before = raw.must({"DUMP", "start"}).text;
            const auto [set, c] = co_await l.async_try_set_count(1, as_result);
            const auto [down] = co_await l.async_count_down(as_result);
            const auto [waited] = co_await l.async_wait(as_result);
            const auto [looked, n] = co_await l.async_count(as_result);
            for (const error_code ec : {set, down, waited, looked}) {
                EXPECT_EQ(ec, errc::wrong_type) << ec.message();
            }
            EXPECT_EQ(raw.must({"DUMP", "start"}).text, before);
            EXPECT_EQ(raw.pttl("start"), -1);
            EXPECT_EQ(raw.dbsize(), 1) << "no request key is left";
        }
    });
}

TEST_F(latch_test, what_a_right_was_missing_for_is_not_done_and_is_done_when_it_is_there) {
    may_refuse = true;
    run([&]() -> asio::awaitable<void> {
        co_await l.async_try_set_count(2);
        raw.must({"ACL", "SETUSER", "conch", "-del", "-incrby"});
        const auto [down] = co_await l.async_count_down(as_result);
        const auto [open] = co_await l.async_count_down(2, as_result);
        EXPECT_EQ(down, errc::permission_denied);
        EXPECT_EQ(open, errc::permission_denied);
        EXPECT_EQ(count(), "2");
        raw.must({"ACL", "SETUSER", "conch", "+del", "+incrby"});
        co_await l.async_count_down(2);
        EXPECT_EQ(count(), "none");
    });
}

TEST_F(latch_test, a_bad_name_is_refused_at_once) {
    EXPECT_THROW((latch{redis, ""}), std::invalid_argument);
    EXPECT_THROW((latch{redis, std::string(65'537, 'n')}), std::invalid_argument);
}

TEST_F(latch_test, a_thread_and_a_future_get_the_same) {
    blocking_client own{settings("blocking")};
    blocking_latch b{own, "start"};
    b.wait();
    EXPECT_TRUE(b.try_set_count(3));
    EXPECT_FALSE(b.try_set_count(3));
    b.count_down();
    EXPECT_EQ(b.count(), 2);
    try {
        b.wait({.wait = 10ms});
        ADD_FAILURE() << "it is closed";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), errc::timed_out);
        EXPECT_NE(std::string{e.what()}.find("latch \"start\""), std::string::npos) << e.what();
    }
    std::future<void> opened = latch{own.async(), "start"}.async_wait(asio::use_future);
    b.count_down(2);
    opened.get();
    EXPECT_EQ(b.name(), "start");
}

TEST_F(latch_test, a_cancelled_waiter_leaves_nothing_behind) {
    asio::cancellation_signal stop;
    error_code ended;
    run([&]() -> asio::awaitable<void> {
        co_await of_other.async_try_set_count(1);
        l.async_wait(asio::bind_cancellation_slot(stop.slot(), [&](error_code ec) { ended = ec; }));
        co_await somebody_listens();
        stop.emit(asio::cancellation_type::terminal);
        const bool gone = co_await when([&] { return ended && raw.subscribers(channel) == 0; });
        EXPECT_TRUE(gone);
        EXPECT_EQ(ended, asio::error::operation_aborted);
    });
}

/// Behind a wire that loses what it carries.
class lost_latch : public latch_test {
protected:
    proxy wire{server.socket_path()};
    client through{io, settings_for(wire.socket_path())};
    const latch far{through, "start"};
};

TEST_F(lost_latch, each_call_whose_answer_is_lost_is_done_once) {
    run([&]() -> asio::awaitable<void> {
        co_await far.async_count_down();  // the server has the script then
        int done = 0;
        const auto lose_answer = [&](const std::string& after) -> asio::awaitable<void> {
            const int before = done;
            const bool ran = co_await when([&] { return count() == after; });
            EXPECT_TRUE(ran) << after;
            wire.cut();
            const bool answered = co_await when([&] { return done == before + 1; });
            EXPECT_TRUE(answered) << after;
            EXPECT_EQ(count(), after);
        };
        wire.swallow_replies();
        far.async_try_set_count(3, [&](error_code ec, bool set) {
            EXPECT_TRUE(!ec && set) << ec.message();
            ++done;
        });
        co_await lose_answer("3");
        wire.swallow_replies();
        far.async_count_down(2, [&](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            ++done;
        });
        co_await lose_answer("1");
    });
}

TEST_F(lost_latch, a_waiter_hears_of_an_opening_that_fell_into_a_lost_connection) {
    run([&]() -> asio::awaitable<void> {
        co_await l.async_try_set_count(1);
        bool done = false;
        far.async_wait([&](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            done = true;
        });
        co_await somebody_listens();
        wire.swallow_replies();
        co_await l.async_count_down();
        EXPECT_FALSE(done);
        wire.cut();
        const bool woken = co_await when([&] { return done; });
        EXPECT_TRUE(woken);
    });
}

TEST_F(lost_latch, a_count_down_goes_on_when_its_caller_is_told_that_the_outcome_is_unknown) {
    config c = settings_for(wire.socket_path());
    c.operation_timeout = 200ms;
    client brief{io, c};
    const latch of_brief{brief, "start"};
    run([&]() -> asio::awaitable<void> {
        co_await of_brief.async_try_set_count(3);
        const auto before = brief.stats().script_calls;
        wire.swallow_requests();
        error_code ended;
        of_brief.async_count_down([&](error_code ec) { ended = ec; });
        const bool written = co_await when([&] { return brief.stats().script_calls > before; });
        EXPECT_TRUE(written);
        const bool told = co_await when([&] { return ended.failed(); });
        EXPECT_TRUE(told);
        EXPECT_EQ(ended, errc::outcome_unknown);
        EXPECT_EQ(count(), "3");
        wire.cut();
        const bool counted = co_await when([&] { return count() == "2"; });
        EXPECT_TRUE(counted);
    });
}

}  // namespace
