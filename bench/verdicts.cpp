// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "event_loop.hpp"
#include "pair_loop.hpp"
#include "raw_baseline.hpp"
#include "rounds.hpp"
#include "side.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conch::bench {
namespace {

/// So much that nobody is refused.
constexpr rate allowed{.limit = 100'000'000, .window = std::chrono::seconds{1}};

/// conch's side: one client, one thread, and coroutines that ask as fast as they can, each a
/// limiter of its own.
class verdict_loop {
public:
    verdict_loop(const config& server, std::size_t coroutines) : client_{loop_.context(), server} {
        for (std::size_t i = 0; i < coroutines; ++i) {
            limiters_.emplace_back(client_, own_name(i), allowed, rate_algorithm::gcra);
        }
    }

    slice run(const slice_length& length) {
        latencies_us_.reserve(last_count_ + last_count_ / 2);
        for (const rate_limiter& one : limiters_) {
            loop_.spawn(ask(one));
        }
        const slice_meter meter;
        end_ = steady::now() + std::chrono::duration_cast<steady::duration>(length.time);
        loop_.run_spawned();
        last_count_ = latencies_us_.size();
        return meter.finish(std::exchange(latencies_us_, {}));
    }

private:
    asio::awaitable<void> ask(const rate_limiter& one) {
        auto before = steady::now();
        while (before < end_) {
            const rate_verdict v = co_await one.async_try_acquire();
            if (!v.allowed) {
                throw std::runtime_error{"a rate limiter of the benchmark is used elsewhere"};
            }
            const auto after = steady::now();
            latencies_us_.push_back(microseconds(after - before));
            before = after;
        }
    }

    event_loop loop_;
    client client_;
    std::vector<rate_limiter> limiters_{};
    steady::time_point end_{};
    std::vector<double> latencies_us_{};
    std::size_t last_count_ = 0;
};

void remove_all(const config& server, std::size_t count) {
    connection control{server};
    for (std::size_t i = 0; i < count; ++i) {
        control.command({"DEL", own_name(i), raw_name(i)});
    }
}

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t coroutines = how.count("coroutines");
    const slice_length length{.time = how.seconds("seconds")};
    verdict_loop own{redis.settings(), coroutines};
    own.run(length);
    raw_baseline raw{redis.settings(), coroutines, verdict_commands(allowed)};
    raw.run(length);

    side ours, theirs;
    take_turns(
        how.count("rounds"), [&] { ours.add(own.run(length)); },
        [&] { theirs.add(raw.run(length)); });
    remove_all(redis.settings(), coroutines);

    report r;
    r.add_count("coroutines", coroutines);
    r.add_median("verdicts_per_s", ours.rates, "/s", 0);
    r.add_median("raw_verdicts_per_s", theirs.rates, "/s", 0);
    r.add_median("ratio", ratios(ours.rates, theirs.rates), "", 3);
    r.add_median("p50_us", ours.p50s, "us");
    r.add_median("p99_us", ours.p99s, "us");
    r.add_median("raw_p50_us", theirs.p50s, "us");
    r.add_median("raw_p99_us", theirs.p99s, "us");
    r.add_median("cpu_us_per_verdict", ours.cpus, "us", 2);
    r.add_median("raw_cpu_us_per_verdict", theirs.cpus, "us", 2);
    r.add_median("allocations_per_verdict", ours.allocations, "", 3);
    r.add_series("ratios", ratios(ours.rates, theirs.rates));
    return r;
}

}  // namespace

sub_command verdicts_command() {
    return {
        "verdicts",
        "permits of rate limiters through one connection, each of a limiter of its own",
        "Coroutines of one client on one thread ask for one permit at a time, each of a limiter\n"
        "of its own, with rate_algorithm::gcra; none is refused. The limit: the same script\n"
        "calls, encoded beforehand, in a sliding window of the same depth over one blocking\n"
        "socket.\n"
        "\n"
        "verdicts_per_s, raw_verdicts_per_s   permits granted per second\n"
        "ratio                                of the two, in one round\n"
        "p50_us, p99_us                       from the call of async_try_acquire to its verdict;\n"
        "                                     raw_: from the write to the reply\n"
        "cpu_us_per_verdict                   CPU time of the client, user and system\n"
        "allocations_per_verdict              calls of malloc (and its aligned forms)\n"
        "ratios                               of each round (JSON only)\n",
        {{"coroutines", "under way at any time, on both sides", 128, 1, 1'000'000},
         {"seconds", "length of one slice of one side, in s", 0.5, 0.001, 20,
          parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
