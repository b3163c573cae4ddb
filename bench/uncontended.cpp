// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "pair_loop.hpp"
#include "raw_baseline.hpp"
#include "rounds.hpp"
#include "statistics.hpp"

namespace conch::bench {
namespace {

/// The figures of one side, a value for each round.
struct side {
    std::vector<double> rates{}, p50s{}, p99s{}, p999s{}, cpus{}, allocations{};

    void add(const slice& s) {
        rates.push_back(s.pairs_per_s);
        p50s.push_back(percentile(s.latencies_us, 50));
        p99s.push_back(percentile(s.latencies_us, 99));
        p999s.push_back(percentile(s.latencies_us, 99.9));
        cpus.push_back(s.cpu_us);
        allocations.push_back(s.allocations);
    }
};

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t coroutines = how.count("coroutines");
    const slice_length length{.time = how.seconds("seconds")};
    pair_loop own{redis.settings(), coroutines};
    raw_baseline raw{redis.settings(), coroutines};
    own.run(length);
    raw.run(length);

    side ours, theirs;
    take_turns(
        how.count("rounds"), [&] { ours.add(own.run(length)); },
        [&] { theirs.add(raw.run(length)); });

    report r;
    r.add_count("coroutines", coroutines);
    r.add("pairs_per_s", median(ours.rates), "/s", 0);
    r.add("raw_pairs_per_s", median(theirs.rates), "/s", 0);
    r.add("ratio", median(ratios(ours.rates, theirs.rates)), "", 3);
    r.add("p50_us", median(ours.p50s), "us");
    r.add("p99_us", median(ours.p99s), "us");
    r.add("p999_us", median(ours.p999s), "us");
    r.add("raw_p50_us", median(theirs.p50s), "us");
    r.add("raw_p99_us", median(theirs.p99s), "us");
    r.add("raw_p999_us", median(theirs.p999s), "us");
    r.add("latency_ratio", median(ratios(ours.p50s, theirs.p50s)), "", 3);
    r.add("cpu_us_per_pair", median(ours.cpus), "us", 2);
    r.add("raw_cpu_us_per_pair", median(theirs.cpus), "us", 2);
    r.add("allocations_per_pair", median(ours.allocations), "", 3);
    r.add_series("ratios", ratios(ours.rates, theirs.rates));
    return r;
}

}  // namespace

sub_command uncontended_command() {
    return {
        "uncontended",
        "lock + unlock pairs through one connection, each on a lock of its own",
        "Coroutines of one client on one thread lock and unlock, each its own lock. The limit:\n"
        "the same script calls, encoded beforehand, in a sliding window of the same depth over\n"
        "one blocking socket.\n"
        "\n"
        "pairs_per_s, raw_pairs_per_s   lock + unlock pairs per second\n"
        "ratio                          of the two, in one round\n"
        "p50_us, p99_us, p999_us        a pair: from the call of async_lock to the end of\n"
        "                               async_unlock; raw_: from the write of the acquire to\n"
        "                               the reply to the release\n"
        "latency_ratio                  p50_us / raw_p50_us, in one round\n"
        "cpu_us_per_pair                CPU time of the client, user and system, per pair\n"
        "allocations_per_pair           calls of malloc (and its aligned forms) per pair: of "
        "conch, and\n"
        "                               of Asio for its handlers\n"
        "ratios                         of each round (JSON only)\n",
        {{"coroutines", "under way at any time, on both sides", 128, 1, 1'000'000},
         {"seconds", "length of one slice of one side, in s", 0.5, 0.001, 20,
          parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
