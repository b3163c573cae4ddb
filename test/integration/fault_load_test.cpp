// SPDX-License-Identifier: BSL-1.0
// Faults in the middle of much work: no update lost, no operation failed, nothing left.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <array>
#include <functional>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class fault_load_test : public redis_test {
protected:
    static constexpr int names = 10;
    static constexpr int workers = 40;
    static constexpr int rounds = 25;

    static constexpr int strikes_wanted = 6;

    /// Lets `workers` coroutines of two clients count under locks, for `rounds` at least and until
    /// `fault()` struck often enough.
    void count_under(const std::function<void()>& fault) {
        client a{io, settings("load")};
        client b{io, settings("load")};
        std::array<int, names> counts{};
        int counted = 0;
        int struck = 0;
        bool done = false;
        const auto worker = [&](client& c, int number) -> asio::awaitable<void> {
            for (int i = 0; i < rounds || struck < strikes_wanted; ++i) {
                const auto which = static_cast<std::size_t>((number + i) % names);
                const mutex m{c, "load:" + std::to_string(which)};
                hold h = co_await m.async_lock();
                const int seen = counts[which];
                co_await pass(1ms);
                counts[which] = seen + 1;
                ++counted;
                co_await h.async_unlock();
            }
        };
        const auto striker = [&]() -> asio::awaitable<void> {
            while (!done) {
                fault();
                ++struck;
                co_await pass(30ms);
            }
        };
        run(
            [&]() -> asio::awaitable<void> {
                task_group strikes{io.get_executor()};
                strikes.spawn(striker());
                task_group work{io.get_executor()};
                for (int i = 0; i < workers; ++i) {
                    work.spawn(worker(i % 2 == 0 ? a : b, i));
                }
                co_await work.join();
                done = true;
                co_await strikes.join();
                const bool idle = co_await when(
                    [&] { return a.stats().slots_now == 0 && b.stats().slots_now == 0; });
                EXPECT_TRUE(idle);
                EXPECT_EQ(raw.dbsize(), 0);
                const bool quiet = co_await when([&] { return raw.channels().empty(); });
                EXPECT_TRUE(quiet);
            },
            60s);
        int sum = 0;
        for (const int n : counts) {
            sum += n;
        }
        EXPECT_EQ(sum, counted);
        EXPECT_GE(counted, workers * rounds);
    }

    /// Locks "batch:0", "batch:1" and so on, all at once.
    asio::awaitable<void> take(const client& c, std::vector<hold>& holds, duration lease) {
        task_group group{io.get_executor()};
        const auto take_one = [&](std::size_t i) -> asio::awaitable<void> {
            const mutex m{c, "batch:" + std::to_string(i)};
            holds[i] = co_await m.async_lock({.lease = lease});
        };
        for (std::size_t i = 0; i < holds.size(); ++i) {
            group.spawn(take_one(i));
        }
        co_await group.join();
    }
};

TEST_F(fault_load_test, killed_connections_lose_no_update_and_fail_no_operation) {
    std::size_t killed = 0;
    count_under([&] { killed += raw.kill_connections("load"); });
    EXPECT_GT(killed, 4u);
}

TEST_F(fault_load_test, flushed_scripts_lose_no_update_and_fail_no_operation) {
    int flushed = 0;
    count_under([&] {
        raw.must({"SCRIPT", "FLUSH"});
        ++flushed;
    });
    EXPECT_GT(flushed, 4);
}

TEST_F(fault_load_test, a_server_that_stands_still_again_and_again_loses_no_update) {
    int pauses = 0;
    count_under([&] {
        if (pauses < 10) {  // and then lets the work come to its end
            raw.pause_writes(20ms);
            ++pauses;
        }
    });
    EXPECT_GT(pauses, 4);
}

TEST_F(fault_load_test, scripts_flushed_between_lock_and_renewal_and_unlock_are_loaded_again) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "flushed"};
        hold h = co_await m.async_lock({.lease = 900ms});
        raw.must({"SCRIPT", "FLUSH"});
        const auto before = c.stats().renewals;
        const bool renewed = co_await when([&] { return c.stats().renewals >= before + 4; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
        raw.must({"SCRIPT", "FLUSH"});
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_EQ(raw.dbsize(), 0);
        EXPECT_EQ(c.stats().connects, 1u);
    });
}

TEST_F(fault_load_test, one_bad_key_in_a_batch_of_100_renewals_harms_none_of_the_others) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> holds(100);
        co_await take(c, holds, 1500ms);
        raw.must({"DEL", "batch:50"});
        raw.must({"SET", "batch:50", "text"});
        const auto [bad] = co_await holds[50].async_wait_lost(as_result);
        EXPECT_EQ(bad, errc::renewal_refused);
        EXPECT_NE(c.last_server_error().find("WRONGTYPE"), std::string::npos);
        co_await pass(600ms);  // past the first lease of all of them
        int kept = 0;
        for (std::size_t i = 0; i < holds.size(); ++i) {
            kept += holds[i].owns_lock() && raw.exists("batch:" + std::to_string(i)) ? 1 : 0;
        }
        EXPECT_EQ(kept, 99);
        EXPECT_EQ(raw.get("batch:50"), "text");
    });
}

TEST_F(fault_load_test, one_deleted_key_in_a_batch_is_the_only_one_that_is_lost) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> holds(100);
        co_await take(c, holds, 3s);
        raw.must({"DEL", "batch:0"});
        const auto [gone] = co_await holds[0].async_wait_lost(as_result);
        EXPECT_EQ(gone, errc::lock_lost);
        EXPECT_EQ(c.stats().lost_taken, 1u);
        EXPECT_EQ(c.stats().holds_now, 99u);
        for (std::size_t i = 1; i < holds.size(); ++i) {
            EXPECT_TRUE(holds[i].owns_lock()) << i;
        }
    });
}

TEST_F(fault_load_test, many_holds_survive_a_lost_connection) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> holds(250);
        co_await take(c, holds, 3s);
        raw.kill_connections("conch");
        co_await pass(3500ms);  // longer than a lease
        for (std::size_t i = 0; i < holds.size(); ++i) {
            EXPECT_TRUE(holds[i].owns_lock()) << i;
        }
        EXPECT_EQ(raw.dbsize(), 250);
    });
}

}  // namespace
