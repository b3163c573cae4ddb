// SPDX-License-Identifier: BSL-1.0
// TLS connections of a client whose handlers run on several threads.
#include "support/tls_test.hpp"
#include "threads/workers.hpp"

#include <array>

namespace {

using namespace conch;
using namespace conch::test;

constexpr int resources = 4;

class tls_threads_test : public tls_test {
protected:
    /// Counters that nothing but the locks protects: to ThreadSanitizer, too.
    std::array<int, resources> guarded{};

    void count(const client& c, int rounds) {
        for (int i = 0; i < rounds; ++i) {
            const std::size_t n = static_cast<std::size_t>(i % resources);
            const mutex m{c, "shared:" + std::to_string(n)};
            lock_result r = in_time(lock_from_outside(m));
            ASSERT_FALSE(r.ec) << r.ec.message() << ": " << c.last_server_error();
            ++guarded.at(n);
            const error_code ec =
                in_time(from_outside([&](auto token) { r.got.async_unlock(std::move(token)); }));
            EXPECT_FALSE(ec) << ec.message();
        }
    }
};

TEST_F(tls_threads_test, threads_exclude_each_other_while_connections_are_lost) {
    constexpr int rounds = 40;
    threaded_context context{3};
    {
        client c{context.io, tls_settings()};
        workers many{4, [&](std::size_t) { count(c, rounds); }};
        for (int i = 0; i < 5; ++i) {
            const time_point end = clock::now() + patience;
            while (raw.kill_connections("conch") == 0 && clock::now() < end) {
            }
        }
        many.join();
        EXPECT_GE(c.stats().connects, 2u);
    }
    context.finish();
    for (const int n : guarded) {
        EXPECT_EQ(n, 4 * rounds / resources);
    }
}

TEST_F(tls_threads_test, clients_come_and_go) {
    threaded_context context{3};
    workers many{3, [&](std::size_t i) {
                     for (int k = 0; k < 10; ++k) {
                         const client c{context.io, tls_settings()};
                         const mutex m{c, "visited:" + std::to_string(i)};
                         std::future<lock_result> f = lock_from_outside(m);
                         if (k % 2 == 0) {
                             const lock_result r = in_time(std::move(f));
                             EXPECT_FALSE(r.ec) << r.ec.message();
                         }
                     }
                 }};
    many.join();
    context.finish();
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(tls_threads_test, a_context_is_stopped_and_destroyed_in_the_middle) {
    for (int k = 0; k < 10; ++k) {
        auto context = std::make_unique<threaded_context>(2);
        const client c{context->io, tls_settings("doomed")};
        const mutex m{c, "doomed"};
        const lock_result r = in_time(lock_from_outside(m, {.lease = 200ms}));
        EXPECT_FALSE(r.ec) << r.ec.message();
        std::atomic<bool> stop{false};
        workers more{1, [&](std::size_t) {
                         while (!stop) {
                             m.async_try_lock([](error_code, hold) {});
                         }
                     }};
        raw.kill_connections("doomed");
        context.reset();
        stop = true;
        more.join();
    }
}

}  // namespace
