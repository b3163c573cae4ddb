// SPDX-License-Identifier: BSL-1.0
// with_lock under each type of cancellation: its body decides what it takes, its release is
// awaited.
#include "integration/with_lock_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <functional>
#include <optional>

namespace {

using namespace conch;
using namespace conch::test;
using asio::cancellation_type;

/// A section with a slot of its own, in a coroutine that lets every type through.
class section {
public:
    section(const mutex& m, std::function<asio::awaitable<void>(hold&)> body)
        : mutex_{m}, body_{std::move(body)} {}

    void start(asio::io_context& io) {
        asio::co_spawn(io, call(),
                       asio::bind_cancellation_slot(signal_.slot(), [this](auto e) { end_ = e; }));
    }
    void cancel(cancellation_type type) { signal_.emit(type); }
    bool ended() const { return end_.has_value(); }
    /// Of the exception that it ended with.
    error_code why() const {
        try {
            if (end_ && *end_) {
                std::rethrow_exception(*end_);
            }
        } catch (const system_error& e) {
            return e.code();
        }
        return {};
    }

private:
    asio::awaitable<void> call() {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await with_lock(mutex_, {}, std::ref(body_));
    }

    const mutex& mutex_;
    std::function<asio::awaitable<void>(hold&)> body_;
    asio::cancellation_signal signal_{};
    std::optional<std::exception_ptr> end_{};
};

class with_lock_cancel_test : public with_lock_test,
                              public ::testing::WithParamInterface<cancellation_type> {};

TEST_P(with_lock_cancel_test, a_waiting_section_is_given_up) {
    const mutex holder{redis, "lock"};
    hold other;
    run([&]() -> asio::awaitable<void> { other = co_await holder.async_lock(); });
    bool ran = false;
    section s{m, [&](hold&) -> asio::awaitable<void> {
                  ran = true;
                  co_return;
              }};
    s.start(io);
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().waiting_now == 1; }));
    s.cancel(GetParam());
    ASSERT_TRUE(run_until(io, [&] { return s.ended(); }));
    EXPECT_EQ(s.why(), asio::error::operation_aborted);
    EXPECT_FALSE(ran);
    other.release();
    EXPECT_TRUE(run_until(io, [&] { return !locked(); })) << "the lock went to the one given up";
}

TEST_P(with_lock_cancel_test, the_body_hears_of_what_it_lets_through) {
    bool running = false;
    bool cancelled = false;
    section s{
        m, [&](hold&) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            running = true;
            co_await until_cancelled(&cancelled);
        }};
    s.start(io);
    ASSERT_TRUE(run_until(io, [&] { return running; }));
    s.cancel(GetParam());
    ASSERT_TRUE(run_until(io, [&] { return s.ended(); }));
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(s.why(), asio::error::operation_aborted);
    EXPECT_FALSE(locked());
}

TEST_P(with_lock_cancel_test, a_body_of_its_own_mind_goes_on_and_keeps_its_result) {
    bool running = false;
    bool go = false;
    section s{m, [&](hold& h) -> asio::awaitable<void> {
                  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
                  running = true;
                  while (!go) {
                      co_await asio::post(asio::use_awaitable);
                  }
                  EXPECT_TRUE(h.owns_lock());
              }};
    s.start(io);
    ASSERT_TRUE(run_until(io, [&] { return running; }));
    s.cancel(GetParam());
    go = true;
    ASSERT_TRUE(run_until(io, [&] { return s.ended(); }));
    EXPECT_FALSE(locked());
}

TEST_P(with_lock_cancel_test, a_release_is_awaited_even_so) {
    bool body_over = false;
    section s{m, [&](hold&) -> asio::awaitable<void> {
                  raw.pause_writes(60s);
                  body_over = true;
                  co_return;
              }};
    s.start(io);
    ASSERT_TRUE(run_until(io, [&] { return body_over && redis.stats().holds_now == 0; }));
    s.cancel(GetParam());
    // What an answer to the cancellation would need: the reply to a read, asked for after it.
    bool asked = false;
    m.async_status([&](error_code, const lock_status&) { asked = true; });
    raw.unpause();
    ASSERT_TRUE(run_until(io, [&] { return s.ended() && asked; }));
    EXPECT_FALSE(locked()) << "completed before its release";
}

INSTANTIATE_TEST_SUITE_P(each_type, with_lock_cancel_test,
                         ::testing::Values(cancellation_type::terminal, cancellation_type::partial,
                                           cancellation_type::total),
                         [](const auto& which) {
                             switch (which.param) {
                                 case cancellation_type::terminal: return "terminal";
                                 case cancellation_type::partial: return "partial";
                                 default: return "total";
                             }
                         });

}  // namespace
