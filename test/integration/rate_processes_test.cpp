// SPDX-License-Identifier: BSL-1.0
// One rate limit for many processes: 12 that share 2,000 calls a minute, a minute being a second.
#include "support/child_process.hpp"
#include "support/proxy.hpp"
#include "support/rate_algorithms.hpp"
#include "support/redis_test.hpp"

#include <conch/rate_limiter.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
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
    struct counter {
        std::int64_t asked;  ///< when its first script began, in microseconds; not later
        std::int64_t begun;  ///< when that wrote the counter
        std::uint64_t permits;
    };
    const std::vector<counter>& windows() const { return windows_; }
    /// The most permits that were ever missing, where they come back at this pace.
    double most_missing(const rate& allowed) const {
        double most = 0;
        double missing = 0;
        std::int64_t before = 0;
        for (const auto& [at, permits] : counted_) {
            missing = std::max(missing - in_permits(at - before, allowed), 0.0) +
                      static_cast<double>(permits);
            most = std::max(most, missing);
            before = at;
        }
        return most;
    }

private:
    /// `SECONDS.MICROSECONDS [0 lua] "command" "key" "argument"...`
    void add(const std::string& line) {
        if (line.find('"') == std::string::npos) {
            return;
        }
        const std::int64_t at =
            std::stoll(line.substr(0, 10)) * 1'000'000 + std::stoll(line.substr(11, 6));
        if (line.find("[0 lua]") == std::string::npos) {
            asked_ = at;  // the server tells of a script before what the script does
            return;
        }
        std::vector<std::string> words;
        std::istringstream rest{line.substr(line.find('"'))};
        for (std::string word; rest >> std::quoted(word);) {
            words.push_back(word);
        }
        const std::string& what = words.front();
        if (what == "zadd" && !words.at(3).empty()) {
            const std::int64_t when = std::stoll(words.at(2));
            counted_.erase(counted_.lower_bound(when), counted_.end());  // they are in this one
            counted_[when] = std::stoull(words.at(3).substr(words.at(3).find(':') + 1));
        } else if (what == "set" && words.at(2).find(':') != std::string::npos) {
            add_time(words.at(2));
        } else if (what == "set" || what == "incrby") {
            const std::uint64_t permits = std::stoull(words.at(2));
            if (what == "set") {
                windows_.push_back({asked_, at, 0});
            }
            windows_.back().permits += permits;
            counted_[at] += permits;
        }
    }

    static double in_permits(std::int64_t us, const rate& r) {
        const std::chrono::duration<double, std::micro> window = r.window;
        return static_cast<double>(us) / window.count() * static_cast<double>(r.limit);
    }
    /// `WHEN ALL ARE BACK:REST:LIMIT:WINDOW`
    void add_time(const std::string& state) {
        std::istringstream in{state};
        std::int64_t all_back = 0;
        std::int64_t rest = 0;
        std::int64_t window_ms = 0;
        rate allowed{};
        char colon = 0;
        in >> all_back >> colon >> rest >> colon >> allowed.limit >> colon >> window_ms;
        allowed.window = std::chrono::milliseconds{window_ms};
        const std::int64_t from = std::max(all_back_, asked_);
        counted_[asked_] +=
            static_cast<std::uint64_t>(std::llround(in_permits(all_back - from, allowed)));
        all_back_ = all_back;
    }

    raw_client monitor_;
    std::map<std::int64_t, std::uint64_t> counted_{};
    std::int64_t all_back_ = 0;
    std::vector<counter> windows_{};
    std::int64_t asked_ = 0;
};

/// Where processes that were forked before there was a way to the server find it.
class signpost {
public:
    void point_to(const std::string& path) {
        std::copy(path.begin(), path.end(), path_.begin());
        there_ = true;
    }
    /// Empty if none came in time.
    std::string follow() const {
        const time_point end = clock::now() + 20s;
        while (!there_ && clock::now() < end) {
            std::this_thread::yield();
        }
        return path_.data();
    }

private:
    std::array<char, 108> path_{};  // zeros behind it
    std::atomic<bool> there_{false};
};

/// Where sixteen processes wait for each other.
class start_line {
public:
    start_line() {
        pthread_barrierattr_t among_processes;
        pthread_barrierattr_init(&among_processes);
        pthread_barrierattr_setpshared(&among_processes, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&barrier_, &among_processes, 16);
        pthread_barrierattr_destroy(&among_processes);
    }
    void wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_{};
};

class rate_processes : public redis_test, public testing::WithParamInterface<rate_algorithm> {
protected:
    /// A process that takes permits until told to stop, and says so.
    int take_permits(const rate& allowed, time_point until, const std::string& path) {
        asio::io_context own;
        config c = settings("rate");
        c.unix_path = path;
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
        EXPECT_LE(book->granted, all.total() + unsure());
        if (GetParam() == rate_algorithm::sliding_log) {
            EXPECT_LE(all.most_within(allowed.window), allowed.limit);
            return;
        }
        if (GetParam() == rate_algorithm::gcra) {
            // On a busy machine MONITOR's clock is milliseconds behind that of the script.
            const double window_s = std::chrono::duration<double>{allowed.window}.count();
            EXPECT_LE(all.most_missing(allowed),
                      static_cast<double>(allowed.limit) * (1 + 0.02 / window_s));
            return;
        }
        EXPECT_LE(book->most_of_one_count(), all.windows().size()) << "twice in a window";
        for (std::size_t i = 0; i < all.windows().size(); ++i) {
            const tally::counter& w = all.windows()[i];
            EXPECT_LE(w.permits, allowed.limit) << "window " << i;
            // The time to live runs from between the two, in whole milliseconds.
            const auto last = i == 0 ? 0 : all.windows()[i - 1].asked;
            EXPECT_GE(std::chrono::microseconds{w.begun - last}, allowed.window - 1ms);
        }
    }

    /// About so many permits MONITOR may not tell: those of `gcra` are known by a time, of a clock
    /// that is behind on a busy machine.
    std::uint64_t unsure() const { return GetParam() == rate_algorithm::gcra ? 200 : 0; }

    shared_value<ledger> book;
};

TEST_P(rate_processes, twelve_of_them_share_a_limit_exactly) {
    const rate allowed{ledger::highest_limit, 1s};
    tally all{server.socket_path()};
    const time_point until = clock::now() + 3s;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 12; ++i) {
            children.emplace_back(
                [&](const auto&) { return take_permits(allowed, until, server.socket_path()); });
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    judge(all, allowed);
    EXPECT_LE(book->granted, all.total() + unsure());
    EXPECT_GE(book->granted + unsure(), all.total()) << "no answer was lost";
    EXPECT_GT(book->granted, 0u);
}

TEST_P(rate_processes, nor_is_there_one_too_many_while_answers_are_lost) {
    const rate allowed{50, 100ms};
    tally all{server.socket_path()};
    const time_point until = clock::now() + 3s;
    const shared_value<signpost> way;
    {
        std::deque<child_process> children;
        for (int i = 0; i < 16; ++i) {
            children.emplace_back(
                [&](const auto&) { return take_permits(allowed, until, way->follow()); });
        }
        proxy wire{server.socket_path()};
        way->point_to(wire.socket_path());
        while (clock::now() < until) {
            const std::uint64_t granted = book->granted;
            while (book->granted < granted + 5 && clock::now() < until) {
                std::this_thread::yield();
            }
            wire.swallow_replies();
            all.read(raw);
            const std::uint64_t counted = all.total();
            while (all.total() == counted && clock::now() < until) {
                all.read(raw);
            }
            wire.cut();
        }
        for (child_process& child : children) {
            EXPECT_EQ(child.join(60s), 0);
        }
    }
    judge(all, allowed);
    EXPECT_GE(book->granted, 1u);
    EXPECT_LT(book->granted, all.total()) << "was no answer lost?";
}

TEST_P(rate_processes, sixteen_at_once_get_the_limit_and_no_more) {
    constexpr int rounds = 10;
    shared_value<std::array<std::atomic<int>, rounds>> allowed;
    const shared_value<start_line> line;
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
                        line->wait();
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

INSTANTIATE_TEST_SUITE_P(algorithms, rate_processes, testing::ValuesIn(rate_algorithms),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
