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
#include <chrono>
#include <cstdint>
#include <deque>
#include <iomanip>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

/// What the processes were granted.
struct ledger {
    static constexpr std::size_t highest_limit = 2'000;

    std::atomic<std::uint64_t> granted{0};
    std::atomic<int> failures{0};
    /// How often a permit was the so many-th of its window, as the verdict has it.
    std::array<std::atomic<std::uint64_t>, highest_limit + 1> by_count{};

    void add(const rate_verdict& v) {
        ++granted;
        if (!v.allowed || v.count == 0 || v.count > v.limit) {
            ++failures;
        } else {
            ++by_count.at(v.count);
        }
    }
    std::uint64_t most_of_one_count() const {
        return *std::max_element(by_count.begin(), by_count.end());
    }
};

/// What the server counted, by its own clock, whoever got the answers: read from its MONITOR.
class tally {
public:
    explicit tally(const std::string& path) : monitor_{path} { monitor_.must({"MONITOR"}); }

    /// Reads all that was run before `raw` sent this.
    void read(raw_client& raw) {
        const std::string end = "the end of the test";
        raw.must({"ECHO", end});
        for (std::string line; line.find(end) == std::string::npos;) {
            line = monitor_.receive().text;
            add(line);
        }
    }

    std::uint64_t total() const {
        return std::accumulate(counted_.begin(), counted_.end(), std::uint64_t{0},
                               [](auto sum, const auto& one) { return sum + one.second; });
    }
    /// The most permits within an interval of this length, wherever it begins.
    std::uint64_t most_within(duration window) const {
        const std::int64_t length = std::chrono::floor<std::chrono::microseconds>(window).count();
        std::uint64_t most = 0;
        for (auto first = counted_.begin(); first != counted_.end(); ++first) {
            std::uint64_t sum = 0;
            for (auto i = first; i != counted_.end() && i->first < first->first + length; ++i) {
                sum += i->second;
            }
            most = std::max(most, sum);
        }
        return most;
    }
    /// When a counter was begun, in microseconds, and the permits that it came to.
    const std::vector<std::pair<std::int64_t, std::uint64_t>>& windows() const { return windows_; }

private:
    /// `SECONDS.MICROSECONDS [0 lua] "command" "key" "argument"...`
    void add(const std::string& line) {
        if (line.find("[0 lua]") == std::string::npos) {
            return;
        }
        std::vector<std::string> words;
        std::istringstream rest{line.substr(line.find('"'))};
        for (std::string word; rest >> std::quoted(word);) {
            words.push_back(word);
        }
        const std::string& what = words.front();
        if (what == "zadd" && !words.at(3).empty()) {
            const std::int64_t at = std::stoll(words.at(2));
            counted_.erase(counted_.lower_bound(at), counted_.end());  // they are in this one
            counted_[at] = std::stoull(words.at(3).substr(words.at(3).find(':') + 1));
        } else if (what == "set" || what == "incrby") {
            const std::int64_t at =
                std::stoll(line.substr(0, 10)) * 1'000'000 + std::stoll(line.substr(11, 6));
            const std::uint64_t permits = std::stoull(words.at(2));
            if (what == "set") {
                windows_.emplace_back(at, 0);
            }
            windows_.back().second += permits;
            counted_[at] += permits;
        }
    }

    raw_client monitor_;
    std::map<std::int64_t, std::uint64_t> counted_{};
    std::vector<std::pair<std::int64_t, std::uint64_t>> windows_{};
};

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
            const duration left = std::max(until - clock::now(), duration{0});
            const auto [ec, v] =
                co_await limiter.async_acquire({.wait = left}, asio::as_tuple(asio::use_awaitable));
            if (!ec) {
                book->add(v);
            } else if (ec != errc::timed_out && ec != errc::outcome_unknown) {
                ++book->failures;  // the end may come while a lost answer is in doubt
            }
        }
    }

    /// Never one too many, by the server's own clock and count; and nobody got what wasn't counted.
    void judge(tally& all, const rate& allowed) {
        all.read(raw);
        EXPECT_EQ(book->failures, 0);
        EXPECT_LE(book->granted, all.total());
        if (GetParam() == rate_algorithm::sliding_log) {
            EXPECT_LE(all.most_within(allowed.window), allowed.limit);
            return;
        }
        EXPECT_LE(book->most_of_one_count(), all.windows().size()) << "twice in a window";
        for (std::size_t i = 0; i < all.windows().size(); ++i) {
            const auto [at, permits] = all.windows()[i];
            EXPECT_LE(permits, allowed.limit) << "window " << i;
            // From the script's start, which comes before, the server counts the time to live.
            const auto last = i == 0 ? 0 : all.windows()[i - 1].first;
            EXPECT_GE(std::chrono::microseconds{at - last}, allowed.window - 50ms);
        }
    }

    shared_value<ledger> book;
};

TEST_P(rate_processes, twelve_of_them_share_a_limit_exactly) {
    const rate allowed{ledger::highest_limit, 1s};
    tally all{server.socket_path()};
    const time_point until = clock::now() + 3s;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 12; ++i) {
            children.emplace_back([&](const auto&) { return take_permits(allowed, until); });
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    judge(all, allowed);
    EXPECT_EQ(book->granted, all.total()) << "no answer was lost";
    EXPECT_GE(book->granted, allowed.limit) << "three windows had three times as many";
}

TEST_P(rate_processes, nor_is_there_one_too_many_while_connections_are_cut) {
    const rate allowed{50, 250ms};
    tally all{server.socket_path()};
    const time_point until = clock::now() + 2s;
    std::size_t cuts = 0;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 8; ++i) {
            children.emplace_back([&](const auto&) { return take_permits(allowed, until); });
        }
        while (clock::now() < until) {
            cuts += raw.kill_connections("rate");
            const std::uint64_t before = book->granted;
            while (book->granted < before + 5 && clock::now() < until) {
                std::this_thread::yield();
            }
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    EXPECT_GT(cuts, 8u);
    judge(all, allowed);
    EXPECT_GE(book->granted, 1u);
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
