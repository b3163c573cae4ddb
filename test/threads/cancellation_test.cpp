// SPDX-License-Identifier: BSL-1.0
// Cancellations from threads that neither started the operation nor run its handler.
#include "threads/workers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

namespace {

using namespace conch;
using namespace conch::test;

class cancellation_test : public redis_test {
protected:
    /// Locks, while another thread cancels `delay` turns of a loop after the start.
    static lock_result lock_and_cancel(const mutex& m, int delay) {
        asio::cancellation_signal signal;
        std::promise<lock_result> told;
        std::future<lock_result> f = told.get_future();
        m.async_lock({.lease = 5s},
                     asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, hold h) {
                         told.set_value({ec, std::move(h)});
                     }));
        workers other{1, [&](std::size_t) {
                          std::atomic<int> turns{0};
                          while (turns < delay) {
                              ++turns;
                          }
                          signal.emit(asio::cancellation_type::terminal);
                      }};
        other.join();
        return in_time(std::move(f));
    }
};

TEST_F(cancellation_test, racing_with_the_grant_gives_the_hold_or_nothing) {
    threaded_context context{3};
    std::atomic<int> cancelled{0};
    std::atomic<int> granted{0};
    {
        client c{context.io, settings()};
        workers many{3, [&](std::size_t i) {
                         const mutex m{c, "raced:" + std::to_string(i)};
                         for (int k = 0; k < 60; ++k) {
                             const lock_result r = lock_and_cancel(m, k * 500);
                             EXPECT_EQ(static_cast<bool>(r.got), !r.ec);
                             if (r.ec) {
                                 EXPECT_EQ(r.ec, asio::error::operation_aborted);
                             }
                             ++(r.ec ? cancelled : granted);
                         }
                     }};
        many.join();
    }
    context.finish();
    EXPECT_EQ(cancelled + granted, 180);
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(cancellation_test, of_all_waiters_at_once_leaves_the_holder_alone) {
    threaded_context context{3};
    {
        client c{context.io, settings()};
        const mutex m{c, "crowded"};
        const lock_result held = in_time(lock_from_outside(m));
        ASSERT_TRUE(held.got.owns_lock());
        workers many{4, [&](std::size_t i) {
                         for (int k = 0; k < 20; ++k) {
                             const lock_result r = lock_and_cancel(m, static_cast<int>(i) * 300);
                             EXPECT_EQ(r.ec, asio::error::operation_aborted);
                         }
                     }};
        many.join();
        EXPECT_TRUE(held.got.owns_lock());
        EXPECT_EQ(raw.hlen("crowded"), 1);
    }
    context.finish();
}

TEST_F(cancellation_test, after_the_end_of_client_and_context_is_harmless) {
    asio::cancellation_signal signal;
    std::future<lock_result> f;
    {
        threaded_context context{2};
        const client c{context.io, settings()};
        const mutex m{c, "over"};
        std::promise<lock_result> told;
        f = told.get_future();
        m.async_lock({},
                     asio::bind_cancellation_slot(
                         signal.slot(), [told = std::move(told)](error_code ec, hold h) mutable {
                             told.set_value({ec, std::move(h)});
                         }));
        f.wait();
    }
    workers many{1, [&](std::size_t) { signal.emit(asio::cancellation_type::total); }};
    many.join();
    EXPECT_FALSE(f.get().ec);
}

}  // namespace
