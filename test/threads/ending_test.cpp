// SPDX-License-Identifier: BSL-1.0
// The end of a client, or of its context, while other threads use it.
#include "threads/workers.hpp"

#include <boost/asio/thread_pool.hpp>

#include <latch>
#include <memory>
#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

constexpr int endings = 15;

using ending_test = redis_test;

/// Locks and unlocks until the client says that it is closed.
void lock_until_closed(const mutex& m, std::latch& started) {
    bool first = true;
    for (;;) {
        lock_result r = in_time(lock_from_outside(m));
        if (first) {
            started.count_down();
            first = false;
        }
        if (r.ec) {
            EXPECT_EQ(r.ec, errc::client_closed) << r.ec.message();
            return;
        }
        const error_code ec =
            in_time(from_outside([&](auto token) { r.got.async_unlock(std::move(token)); }));
        EXPECT_TRUE(!ec || ec == errc::client_closed) << ec.message();
    }
}

TEST_F(ending_test, a_shutdown_ends_the_operations_of_all_threads) {
    threaded_context context{3};
    for (int k = 0; k < endings; ++k) {
        client c{context.io, settings()};
        const mutex m{c, "closing"};
        std::latch started{4};
        workers many{4, [&](std::size_t) { lock_until_closed(m, started); }};
        started.wait();
        const error_code ec =
            in_time(from_outside([&](auto token) { c.async_shutdown(std::move(token)); }));
        EXPECT_FALSE(ec) << ec.message();
        many.join();
    }
    context.finish();
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(ending_test, several_threads_may_shut_a_client_down) {
    threaded_context context{3};
    for (int k = 0; k < endings; ++k) {
        client c{context.io, settings()};
        const mutex m{c, "closing"};
        const lock_result kept = in_time(lock_from_outside(m));
        EXPECT_TRUE(kept.got.owns_lock());
        workers many{4, [&](std::size_t) {
                         const error_code ec = in_time(
                             from_outside([&](auto token) { c.async_shutdown(std::move(token)); }));
                         EXPECT_FALSE(ec) << ec.message();
                     }};
        many.join();
        EXPECT_EQ(kept.got.lost_reason(), errc::client_closed);
        EXPECT_FALSE(raw.exists("closing"));
    }
    context.finish();
}

TEST_F(ending_test, the_destructor_of_a_client_ends_the_operations_of_all_threads) {
    threaded_context context{3};
    for (int k = 0; k < endings; ++k) {
        std::optional<client> c{std::in_place, context.io, settings()};
        const mutex m{*c, "closing"};
        std::latch started{4};
        workers many{4, [&](std::size_t) { lock_until_closed(m, started); }};
        started.wait();
        c.reset();
        many.join();
    }
    context.finish();
    EXPECT_EQ(raw.dbsize(), 0);
}

/// Operations that will never be told, and holds that end, until `stop`.
void submit_until(const std::atomic<bool>& stop, const mutex& m, std::latch& started,
                  const std::shared_ptr<int>& owned) {
    EXPECT_FALSE(in_time(lock_from_outside(m)).ec);
    started.arrive_and_wait();
    while (!stop) {
        m.async_lock({}, [owned](error_code, const hold&) {});
        m.async_status([owned](error_code, const lock_status&) {});
    }
}

TEST_F(ending_test, a_context_is_destroyed_while_other_threads_submit) {
    const auto owned = std::make_shared<int>(0);
    for (int k = 0; k < endings; ++k) {
        std::optional<threaded_context> context{std::in_place, 2u};
        std::optional<client> c{std::in_place, context->io, settings("doomed")};
        const mutex m{*c, "doomed:" + std::to_string(k)};
        std::atomic<bool> stop{false};
        std::latch started{4};
        workers many{3, [&](std::size_t) { submit_until(stop, m, started, owned); }};
        started.arrive_and_wait();
        context.reset();
        stop = true;
        many.join();
        EXPECT_EQ(owned.use_count(), 1) << "a handler was neither run nor dropped";
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

TEST_F(ending_test, a_thread_pool_is_destroyed_while_other_threads_submit) {
    const auto owned = std::make_shared<int>(0);
    for (int k = 0; k < endings; ++k) {
        std::optional<asio::thread_pool> pool{std::in_place, 2u};
        std::optional<client> c{std::in_place, pool->get_executor(), settings("doomed")};
        const mutex m{*c, "doomed:" + std::to_string(k)};
        std::atomic<bool> stop{false};
        std::latch started{4};
        workers many{3, [&](std::size_t) { submit_until(stop, m, started, owned); }};
        started.arrive_and_wait();
        pool.reset();
        stop = true;
        many.join();
        EXPECT_EQ(owned.use_count(), 1) << "a handler was neither run nor dropped";
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

TEST_F(ending_test, the_last_handles_die_on_other_threads_while_the_context_is_destroyed) {
    for (int k = 0; k < endings * 2; ++k) {
        std::optional<threaded_context> context{std::in_place, 2u};
        auto c =
            std::make_shared<std::optional<client>>(std::in_place, context->io, settings("doomed"));
        const auto m = std::make_shared<std::optional<mutex>>(std::in_place, **c,
                                                              "handles:" + std::to_string(k));
        const auto h = std::make_shared<hold>(in_time(lock_from_outside(**m)).got);
        std::latch ready{4};
        context->io.stop();
        workers many{3, [&](std::size_t i) {
                         ready.arrive_and_wait();
                         if (i == 0) {
                             *h = hold{};
                         } else if (i == 1) {
                             c->reset();
                         } else {
                             m->reset();
                         }
                     }};
        ready.arrive_and_wait();
        context.reset();
        many.join();
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

TEST_F(ending_test, the_last_handle_of_a_client_that_ended_dies_while_the_context_is_destroyed) {
    for (int k = 0; k < 300; ++k) {
        std::optional<asio::io_context> context{std::in_place};
        std::optional<client> c{std::in_place, *context, settings()};
        std::optional<mutex> last{std::in_place, *c, "last"};
        c.reset();
        context->run();
        std::latch ready{2};
        workers other{1, [&](std::size_t) {
                          ready.arrive_and_wait();
                          last.reset();
                      }};
        ready.arrive_and_wait();
        context.reset();
        other.join();
    }
}

TEST_F(ending_test, a_stopped_context_takes_what_comes_and_drops_it_at_its_end) {
    const auto owned = std::make_shared<int>(0);
    {
        threaded_context context{2};
        const client c{context.io, settings("doomed")};
        const mutex m{c, "stopped"};
        const lock_result kept = in_time(lock_from_outside(m));
        context.stop();
        workers many{3, [&](std::size_t) {
                         for (int k = 0; k < 50; ++k) {
                             m.async_lock({}, [owned](error_code, const hold&) { FAIL(); });
                         }
                     }};
        many.join();
        EXPECT_EQ(owned.use_count(), 151);
        EXPECT_TRUE(kept.got);
    }
    EXPECT_EQ(owned.use_count(), 1);
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

}  // namespace
