// SPDX-License-Identifier: BSL-1.0
// What `conch ls` costs a server: the commands of each lock, and among much else, with those who
// use the server meanwhile. The tables of the page on operations. `conch_integration
// --gtest_filter=*million*` tells it.
#include "integration/list_rights.hpp"
#include "support/command_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

using seconds = std::chrono::duration<double>;

constexpr int locks = 10'000;
constexpr int strings = 800'000;
constexpr int hashes = 150'000;
constexpr int sorted_sets = 50'000;
constexpr int fields_of_huge = 2'000'000;

/// Another client, that pings again and again.
class pinger {
public:
    explicit pinger(const std::string& path) : raw_{path} {}
    ~pinger() { stop(); }
    pinger(const pinger&) = delete;
    pinger& operator=(const pinger&) = delete;

    /// How long the answers took.
    std::string told() {
        stop();
        std::sort(took_.begin(), took_.end());
        char text[80];
        std::snprintf(text, sizeof text,
                      "PING of another: 99 %% within %.1f ms, all within %.1f ms",
                      took_[took_.size() * 99 / 100].count(), took_.back().count());
        return text;
    }

private:
    void stop() {
        if (thread_.joinable()) {
            end_.set_value();
            thread_.join();
        }
    }
    void ping() {
        const std::future<void> ended = end_.get_future();
        do {
            const auto start = clock::now();
            raw_.must({"PING"});
            took_.emplace_back(clock::now() - start);
        } while (ended.wait_for(100us) == std::future_status::timeout);
    }

    raw_client raw_;
    std::promise<void> end_{};
    std::vector<std::chrono::duration<double, std::milli>> took_{};
    std::thread thread_{[this] { ping(); }};
};

class list_cost_test : public command_fixture {
protected:
    void many(const std::string& each, int count) {
        constexpr int at_once = 50'000;
        for (int first = 1; first <= count; first += at_once) {
            const int last = std::min(count, first + at_once - 1);
            raw.must({"EVAL", "for i = ARGV[1], ARGV[2] do " + each + " end", "0",
                      std::to_string(first), std::to_string(last)});
        }
    }
    void fill() {
        many("redis.call('set', 'k' .. i, i)", strings);
        many("redis.call('hset', 'h' .. i, 'name', i, 'mode', 'x')", hashes);
        many("redis.call('zadd', 'z' .. i, i, 'member')", sorted_sets);
        many("redis.call('hset', 'huge', 'f' .. i, i)", fields_of_huge);
        many(
            "redis.call('hset', 'lock:' .. i, '5c1e0a8e-0000-4000-8000-000000000001:' .. i, 1) "
            "redis.call('pexpire', 'lock:' .. i, 3600000)",
            locks);
        raw.must({"CONFIG", "SET", "slowlog-max-len", "100000"});
        raw.must({"CONFIG", "SET", "slowlog-log-slower-than", "100"});
    }
    /// Of a processor, that the server has used.
    double processor_seconds() {
        const std::string text = raw.must({"INFO", "cpu"}).text;
        double sum = 0;
        for (const std::string name : {"used_cpu_user:", "used_cpu_sys:"}) {
            sum += std::stod(text.substr(text.find(name) + name.size()));
        }
        return sum;
    }
    double longest_scan_ms() {
        std::int64_t longest = 0;
        for (const reply& entry : raw.must({"SLOWLOG", "GET", "100000"}).items) {
            const bool ours = entry.items.at(3).items.at(0).text == "SCAN";
            longest = std::max(longest, ours ? entry.items.at(2).number : 0);
        }
        return static_cast<double>(longest) / 1000;
    }
    void measure(const words& options, int page) {
        words line{"ls"};
        line.insert(line.end(), options.begin(), options.end());
        raw.must({"SLOWLOG", "RESET"});
        raw.reset_calls();
        pinger other{server.socket_path()};
        const double used = processor_seconds();
        const auto start = clock::now();
        program ls{conch(line), here()};
        const ended end = ls.finish(300s);
        const seconds took = clock::now() - start;
        const double cost = processor_seconds() - used;
        const std::string others = other.told();
        EXPECT_EQ(end.status, 0) << end.err;
        EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), locks + 1);
        const std::uint64_t scans = raw.calls("scan");
        const auto pages = static_cast<std::uint64_t>(raw.dbsize() / page + 1);
        EXPECT_GT(scans, pages);
        EXPECT_LE(scans, 3 * pages) << "two walks";
        EXPECT_LE(raw.calls("hscan"), hashes + 2u * locks + 1) << "one for each hash";
        EXPECT_LE(cost, took.count());
        std::string title = "conch";
        for (const std::string& word : line) {
            title += ' ' + word;
        }
        std::printf(
            "%s: %.1f s; processor of the server: %.1f s; %llu SCAN, the longest %.1f ms; %s\n",
            title.c_str(), took.count(), cost, static_cast<unsigned long long>(scans),
            longest_scan_ms(), others.c_str());
        std::fflush(stdout);
    }
};

using counts = std::map<std::string, std::uint64_t>;

TEST_F(list_cost_test, each_lock_costs_the_commands_that_the_page_tells) {
    const std::vector<std::pair<counts, words>> all{
        {{{"hscan", 1},
          {"hlen", 1},
          {"hget", 1},
          {"pttl", 1},
          {"get", 1},
          {"llen", 1},
          {"getrange", 1}},
         {"ls", "lock"}},
        {{{"zrange", 1}, {"zrangebyscore", 1}, {"zcount", 2}, {"get", 1}}, {"ls", "permits"}},
        {{{"strlen", 1}, {"get", 2}, {"pttl", 1}, {"getrange", 1}}, {"ls", "--plain", "plain"}}};
    take_as_stranger(raw, "lock");
    raw.must({"SET", "plain", "0f3a9b1c2d4e5f60718293a4b5c6d7e8", "PX", "600000"});
    for (auto [expected, line] : all) {
        SCOPED_TRACE(line.back());
        if (line.back() == "permits") {
            raw.must({"ZADD", "{permits}:timeout", "99999999999998", "ABCDEFGHIJKLMNOP",
                      "99999999999999", "abcdefghijklmnop"});
        }
        raw.reset_calls();
        EXPECT_EQ(to_end(line).status, 0);
        expected["time"] = 2;  // the first one at the start, to reach the server
        expected[command_of("pubsub|numsub")] = 1;
        for (const std::string& name : list_commands_of_page()) {
            if (name != "scan" && name != command_of("client|list")) {
                EXPECT_EQ(raw.calls(name), expected[name]) << name;
            }
        }
    }
}

TEST_F(list_cost_test, slow_ten_thousand_locks_among_a_million_strangers) {
    fill();
    pinger alone{server.socket_path()};
    run([]() -> asio::awaitable<void> { co_await pass(3s); });
    std::printf("without: %s\n", alone.told().c_str());
    measure({}, 1000);
    measure({"--pause", "0"}, 1000);
    measure({"--page", "100"}, 100);
    measure({"--page", "10000"}, 10'000);
}

}  // namespace
