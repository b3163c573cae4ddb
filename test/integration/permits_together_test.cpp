// SPDX-License-Identifier: BSL-1.0
// Permits with leases that many of one client take at once.
#include "integration/permits_fixture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class permits_together_test : public permits_test {
protected:
    static constexpr std::size_t many = 128;

    /// How often the server has read from any connection.
    std::int64_t reads() {
        const std::string info = raw.must({"INFO", "stats"}).text;
        const std::string field = "total_reads_processed:";
        return std::stoll(info.substr(info.find(field) + field.size()));
    }
    /// So many reads it takes until one permit of each of these is held.
    asio::awaitable<std::int64_t> reads_to_take_one_of(const std::vector<semaphore>& all) {
        std::vector<hold> holds(all.size());
        const std::int64_t before = reads();
        for (std::size_t i = 0; i < all.size(); ++i) {
            start(all[i], 1, holds[i]);
        }
        for (const hold& h : holds) {
            co_await granted(h);
        }
        co_return reads() - before;
    }
};

TEST_F(permits_together_test, take_as_few_round_trips_as_those_of_different_semaphores) {
    run([&]() -> asio::awaitable<void> {
        std::vector<semaphore> different;
        for (std::size_t i = 0; i < many; ++i) {
            different.emplace_back(one, "s" + std::to_string(i));
            co_await different.back().async_set_permits(1);
        }
        co_await s1.async_set_permits(many);
        hold warm_up = co_await s1.async_acquire();
        co_await warm_up.async_unlock();
        const std::int64_t of_different = co_await reads_to_take_one_of(different);
        const std::int64_t of_one = co_await reads_to_take_one_of(std::vector(many, s1));
        EXPECT_LE(of_one, 2 * of_different);
        EXPECT_LT(of_one, 16);
    });
}

TEST_F(permits_together_test, are_granted_in_order_while_there_are_enough) {
    raw.must({"SET", "permits", "5"});
    run([&]() -> asio::awaitable<void> {
        hold warm_up = co_await s1.async_acquire();
        co_await warm_up.async_unlock();
        hold a, b, large, small;
        start(s1, 1, a);
        start(s1, 2, b);
        start(s1, 3, large);
        start(s1, 1, small);
        co_await granted(a);
        co_await granted(b);
        co_await listened();
        EXPECT_FALSE(large || small);
        EXPECT_EQ(left(), 2) << "who stands behind has taken none";
        co_await a.async_unlock();
        co_await granted(large);
        EXPECT_FALSE(small);
        co_await b.async_unlock();
        co_await granted(small);
        EXPECT_EQ(left(), 1);
    });
}

TEST_F(permits_together_test, many_who_wait_are_served_in_few_rounds) {
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> holds(many);
        for (hold& h : holds) {
            start(s1, 1, h);
        }
        co_await listened();
        raw.reset_calls();
        const std::int64_t before = reads();
        co_await s2.async_set_permits(many);
        for (const hold& h : holds) {
            co_await granted(h);
        }
        EXPECT_LT(reads() - before, 32);
        EXPECT_LT(raw.calls("evalsha"), 2 * many);
    });
}

}  // namespace
