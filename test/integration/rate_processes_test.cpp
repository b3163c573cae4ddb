// SPDX-License-Identifier: BSL-1.0
// One rate limit for many processes: 12 that share 2,000 calls a minute, a minute being a second.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <conch/rate_limiter.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// When a permit was asked for, and when it was there: the server counted it in between.
struct permit {
    duration::rep asked;
    duration::rep granted;
};

struct ledger {
    std::atomic<std::size_t> count{0};
    std::atomic<bool> go{false};
    std::atomic<int> failures{0};
    std::array<permit, 20'000> permits{};

    void add(time_point asked) {
        const std::size_t i = count++;
        if (i < permits.size()) {
            permits[i] = {asked.time_since_epoch().count(),
                          clock::now().time_since_epoch().count()};
        }
    }
};

/// The most permits that were certainly counted within one interval of this length.
std::size_t most_within(const ledger& all, duration window) {
    std::vector<permit> p(all.permits.begin(),
                          all.permits.begin() + static_cast<std::ptrdiff_t>(all.count.load()));
    std::sort(p.begin(), p.end(), [](auto a, auto b) { return a.asked < b.asked; });
    std::size_t most = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const duration::rep end = p[i].asked + window.count();
        most =
            std::max<std::size_t>(most, static_cast<std::size_t>(std::count_if(
                                            p.begin() + static_cast<std::ptrdiff_t>(i), p.end(),
                                            [&](const permit& one) { return one.granted < end; })));
    }
    return most;
}

class rate_processes : public redis_test, public testing::WithParamInterface<rate_algorithm> {
protected:
    /// A process that takes permits until told to stop, and says so.
    int take_permits(const rate& allowed, time_point until) {
        asio::io_context own;
        config c = settings("rate");
        c.operation_timeout = 60s;
        client redis{own, c};
        const rate_limiter limiter{redis, "calls", allowed, GetParam()};
        int running = 4;
        for (int i = 0; i < 4; ++i) {
            asio::co_spawn(own, one_after_another(limiter, until), [&](std::exception_ptr e) {
                book->failures += e ? 1 : 0;
                if (--running == 0) {
                    redis.async_shutdown([](error_code) {});
                }
            });
        }
        own.run_for(60s);
        return running;
    }

    asio::awaitable<void> one_after_another(rate_limiter limiter, time_point until) {
        while (clock::now() < until) {
            const time_point asked = clock::now();
            const duration left = std::max(until - asked, duration{0});
            const auto [ec, v] = co_await limiter.async_acquire(
                1, {.wait = left}, asio::as_tuple(asio::use_awaitable));
            if (!ec) {
                book->add(asked);
            } else if (ec != errc::timed_out) {
                ++book->failures;
            }
        }
    }

    shared_value<ledger> book;
};

TEST_P(rate_processes, twelve_of_them_share_a_limit_exactly) {
    const rate allowed{200, 500ms};
    const time_point until = clock::now() + 2s;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 12; ++i) {
            children.emplace_back([&](const auto&) { return take_permits(allowed, until); });
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    EXPECT_EQ(book->failures, 0);
    const std::uint64_t factor = GetParam() == rate_algorithm::sliding_log ? 1 : 2;
    EXPECT_LE(most_within(*book, allowed.window - 2ms), factor * allowed.limit);
    EXPECT_GE(book->count, 2 * allowed.limit) << "four windows had twice as many";
}

TEST_P(rate_processes, nor_is_there_one_too_many_while_connections_are_cut) {
    const rate allowed{50, 250ms};
    const time_point until = clock::now() + 2s;
    std::size_t cuts = 0;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 8; ++i) {
            children.emplace_back([&](const auto&) { return take_permits(allowed, until); });
        }
        while (clock::now() < until) {
            cuts += raw.kill_connections("rate");
            const std::size_t before = book->count;
            while (book->count < before + 5 && clock::now() < until) {
                std::this_thread::yield();
            }
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    EXPECT_GT(cuts, 8u);
    EXPECT_EQ(book->failures, 0);
    const std::uint64_t factor = GetParam() == rate_algorithm::sliding_log ? 1 : 2;
    EXPECT_LE(most_within(*book, allowed.window - 2ms), factor * allowed.limit);
    EXPECT_GE(book->count, 1u);
}

TEST_P(rate_processes, sixteen_at_once_get_the_limit_and_no_more) {
    constexpr int rounds = 20;
    shared_value<std::array<std::atomic<int>, rounds>> allowed;
    shared_value<std::atomic<int>> ready;
    std::deque<child_process> children;
    for (int i = 0; i < 16; ++i) {
        children.emplace_back([&](const auto&) {
            asio::io_context own;
            client redis{own, settings("rate")};
            asio::co_spawn(
                own,
                [&]() -> asio::awaitable<void> {
                    co_await warm_up(redis);
                    for (int round = 0; round < rounds; ++round) {
                        ++*ready;
                        while (*ready < 16 * (round + 1)) {
                        }
                        const rate_limiter five{
                            redis, "round" + std::to_string(round), {5, 1min}, GetParam()};
                        const rate_verdict v = co_await five.async_try_acquire();
                        (*allowed)[static_cast<std::size_t>(round)] += v.allowed ? 1 : 0;
                    }
                    redis.async_shutdown([](error_code) {});
                },
                asio::detached);
            own.run();
            return 0;
        });
    }
    for (child_process& child : children) {
        ASSERT_EQ(child.join(60s), 0);
    }
    for (const std::atomic<int>& granted : *allowed) {
        EXPECT_EQ(granted, 5);
    }
}

INSTANTIATE_TEST_SUITE_P(algorithms, rate_processes,
                         testing::Values(rate_algorithm::sliding_log, rate_algorithm::fixed_window),
                         [](const auto& one) {
                             return one.param == rate_algorithm::sliding_log ? "sliding_log"
                                                                             : "fixed_window";
                         });

}  // namespace
