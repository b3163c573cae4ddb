// SPDX-License-Identifier: BSL-1.0
// A hold that nobody kept is told of, in a real event loop.
#include "support/redis_test.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class dropped_hold_test : public redis_test {
protected:
    config told() {
        config c = settings();
        c.least_log_level = log_level::warning;
        c.log = [all = said](log_level, std::string_view line) { all->emplace_back(line); };
        return c;
    }
    /// Takes it as who overlooks that nobody keeps the hold, until that is told: where this thread
    /// gets no processor for a moment, it looks as if the hold had been kept.
    asio::awaitable<void> overlook(const mutex& m) {
        for (int i = 0; i < 10'000 && said->empty(); ++i) {
            co_await m.async_lock();
        }
    }
    void expect_told(const std::string& name) const {
        ASSERT_EQ(said->size(), 1u) << ::testing::PrintToString(*said);
        EXPECT_TRUE(said->front().starts_with("released as soon as it was granted: " + name + ": "))
            << said->front();
    }

    /// Shared with the sink: the client goes on in the background, and its log with it.
    const std::shared_ptr<std::vector<std::string>> said =
        std::make_shared<std::vector<std::string>>();
};

TEST_F(dropped_hold_test, a_lock_taken_by_a_statement_of_its_own_is_a_warning) {
    client redis{io, told()};
    const mutex m{redis, "dropped"};
    run([&] { return overlook(m); });
    expect_told("dropped");
    EXPECT_TRUE(run_until(io, [&] { return !raw.exists("dropped"); }));
}

TEST_F(dropped_hold_test, a_callback_that_does_not_keep_its_hold_is_a_warning) {
    client redis{io, told()};
    const mutex m{redis, "dropped"};
    int granted = 0;
    for (int i = 0; i < 10'000 && said->empty(); ++i) {
        m.async_lock([&](error_code ec, const hold&) { granted += ec ? 0 : 1; });
        ASSERT_TRUE(run_until(io, [&] { return granted > i; }));
        ASSERT_TRUE(run_until(io, [&] { return !raw.exists("dropped"); }));
    }
    expect_told("dropped");
}

TEST_F(dropped_hold_test, a_hold_that_is_kept_and_used_is_none_however_it_ends) {
    client redis{io, told()};
    const mutex m{redis, "kept"};
    const mutex other{redis, "dropped"};
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            hold h = co_await m.async_lock();
            co_await pass(2ms);
            if (i % 3 == 1) {
                co_await h.async_unlock();
            } else if (i % 3 == 2) {
                h.release();
            }
        }
        hold moved = co_await m.async_lock();
        hold last = std::move(moved);
        co_await pass(2ms);
        last = {};
        co_await overlook(other);  // it is told of one alone: not of any before
    });
    expect_told("dropped");
}

TEST_F(dropped_hold_test, a_hold_that_is_released_at_once_is_none) {
    client redis{io, told()};
    const mutex m{redis, "released"};
    const mutex other{redis, "dropped"};
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            hold h = co_await m.async_lock();
            h.release();
        }
        co_await overlook(other);
    });
    expect_told("dropped");
}

}  // namespace
