// SPDX-License-Identifier: BSL-1.0
// A cancelled call of a guarded function, and what becomes of its key.
#include "integration/with_lock_fixture.hpp"

#include <conch/guarded.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

/// Hears of each grant while the client is at it: nobody else has yet.
struct eavesdropper : observer {
    void waited(const wait_span& s) noexcept override {
        if (s.number != 0 && at_grant) {
            at_grant();
        }
    }
    std::function<void()> at_grant{};
};

/// With the key given back at the end, or kept.
class guarded_cancel_test : public redis_test, public testing::WithParamInterface<bool> {
protected:
    /// Calls a guarded function that runs until it is cancelled.
    void call() {
        auto job = guarded(redis, "job",
                           [this]() -> asio::awaitable<void> {
                               running = true;
                               co_await until_cancelled(&heard);
                           },
                           {.wait = 60s, .auto_release = GetParam()});
        asio::co_spawn(io, job(),
                       asio::bind_cancellation_slot(
                           signal.slot(), [this](std::exception_ptr error) { end = error; }));
    }
    void cancel() { signal.emit(asio::cancellation_type::terminal); }
    /// The code of what the call threw.
    error_code thrown() {
        EXPECT_TRUE(run_until(io, [this] { return end.has_value(); }));
        try {
            if (end && *end) {
                std::rethrow_exception(*end);
            }
        } catch (const system_error& e) {
            return e.code();
        }
        return {};
    }
    bool locked() { return raw.exists("job"); }

    config watched() const {
        config c = settings();
        c.observer = ear;
        return c;
    }

    std::shared_ptr<eavesdropper> ear = std::make_shared<eavesdropper>();
    client redis{io, watched()};
    asio::cancellation_signal signal{};
    bool running = false;
    bool heard = false;
    std::optional<std::exception_ptr> end{};
};

TEST_P(guarded_cancel_test, while_it_waits_it_takes_nothing) {
    const mutex m{redis, "job"};
    hold other;
    run([&]() -> asio::awaitable<void> { other = co_await m.async_lock(); });
    call();
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().waiting_now == 1; }));
    cancel();
    EXPECT_EQ(thrown(), asio::error::operation_aborted);
    other.release();
    EXPECT_TRUE(run_until(io, [&] { return !locked(); }));
    EXPECT_FALSE(running);
}

TEST_P(guarded_cancel_test, while_the_lock_is_on_its_way_it_is_given_back) {
    run([&]() -> asio::awaitable<void> { co_await warm_up(redis); });
    raw.pause_writes(60s);
    call();
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().waiting_now == 1; }));
    cancel();
    EXPECT_EQ(thrown(), asio::error::operation_aborted);
    raw.unpause();
    EXPECT_TRUE(run_until(io, [&] { return redis.stats().compensations == 1 && !locked(); }));
    EXPECT_FALSE(running) << "so there is nothing to keep a key for";
}

TEST_P(guarded_cancel_test, a_grant_that_the_cancellation_is_too_late_for_is_given_back) {
    ear->at_grant = [&] { cancel(); };
    call();
    EXPECT_EQ(thrown(), asio::error::operation_aborted);
    EXPECT_TRUE(run_until(io, [&] { return !locked(); })) << "nothing was called";
    EXPECT_FALSE(running);
}

TEST_P(guarded_cancel_test, while_it_runs_the_function_hears_of_it_and_the_key_is_left_as_asked) {
    call();
    ASSERT_TRUE(run_until(io, [&] { return running; }));
    cancel();
    EXPECT_EQ(thrown(), asio::error::operation_aborted);
    EXPECT_TRUE(heard);
    EXPECT_EQ(locked(), !GetParam());
    EXPECT_TRUE(run_until(io, [&] { return redis.stats().holds_now == 0; }))
        << "somebody renews it";
}

INSTANTIATE_TEST_SUITE_P(keys, guarded_cancel_test, testing::Bool(),
                         [](const auto& one) { return one.param ? "given_back" : "kept"; });

}  // namespace
