// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "pair_loop.hpp"
#include "raw_relay.hpp"
#include "rounds.hpp"
#include "statistics.hpp"

namespace conch::bench {
namespace {

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const slice_length length{.time = how.seconds("seconds")};
    const mutex_options what{.fenced = how.count("fenced") != 0};
    pair_loop own{redis.settings(), how.count("coroutines"), "conch-bench:local", what,
                  how.count("readers")};
    raw_relay raw{redis.settings()};
    connection observer{redis.settings()};
    own.run(length);
    raw.run(length);

    std::vector<double> rates, raw_rates, p50s, p99s, longest, cpus, calls, sent;
    take_turns(
        how.count("rounds"),
        [&] {
            const std::uint64_t calls_before = observer.calls("evalsha");
            const std::uint64_t sent_before = own.redis().stats().script_calls;
            const slice s = own.run(length);
            const auto pairs = static_cast<double>(s.latencies_us.size());
            calls.push_back(static_cast<double>(observer.calls("evalsha") - calls_before) / pairs);
            sent.push_back(static_cast<double>(own.redis().stats().script_calls - sent_before) /
                           pairs);
            rates.push_back(s.pairs_per_s);
            p50s.push_back(percentile(s.latencies_us, 50));
            p99s.push_back(percentile(s.latencies_us, 99));
            longest.push_back(percentile(s.latencies_us, 100));
            cpus.push_back(s.cpu_us);
        },
        [&] { raw_rates.push_back(raw.run(length).pairs_per_s); });

    report r;
    r.add_count("coroutines", how.count("coroutines"));
    r.add_count("fenced", how.count("fenced"));
    r.add_count("readers", how.count("readers"));
    r.add("acquisitions_per_s", median(rates), "/s", 0);
    r.add("raw_acquisitions_per_s", median(raw_rates), "/s", 0);
    r.add("ratio", median(ratios(rates, raw_rates)), "", 3);
    r.add("p50_us", median(p50s), "us");
    r.add("p99_us", median(p99s), "us");
    r.add("longest_us", median(longest), "us");
    r.add("script_calls_per_acquisition", median(calls), "", 3);
    r.add("sent_scripts_per_acquisition", median(sent), "", 3);
    r.add("cpu_us_per_acquisition", median(cpus), "us", 2);
    r.add_series("ratios", ratios(rates, raw_rates));
    return r;
}

}  // namespace

sub_command local_command() {
    return {
        "local",
        "coroutines of one client on one lock, and no other process",
        "Coroutines of one client on one thread lock and unlock the same lock. The limit is that\n"
        "of any client which asks the server for each acquisition: one blocking socket, on which\n"
        "each release leaves in one write with the next acquire, encoded beforehand. Passing the\n"
        "lock on inside of the client may beat it. One coroutine alone, which awaits each "
        "release,\n"
        "gets little more than half of it.\n"
        "\n"
        "Fencing tokens (--fenced 1) are the server's, so that it hears of each hand-off. The\n"
        "limit goes without them. Of a read-write lock (--readers 100), readers of one client\n"
        "hold it together, with no word to the server.\n"
        "\n"
        "acquisitions_per_s             of all coroutines together; raw_: of the limit\n"
        "ratio                          of the two, in one round\n"
        "p50_us, p99_us, longest_us     from the call of async_lock to the end of async_unlock,\n"
        "                               the wait for the others included\n"
        "script_calls_per_acquisition   by the server's count of EVALSHA (of all its clients)\n"
        "sent_scripts_per_acquisition   the same by the client's own count\n"
        "cpu_us_per_acquisition         CPU time of the client, user and system\n"
        "ratios                         of each round (JSON only)\n",
        {{"coroutines", "that want the lock", 128, 1, 100'000},
         {"fenced", "1: each acquisition has a fencing token", 0, 0, 1},
         {"readers", "so many percent only read; 0: the lock is a mutex", 0, 0, 100},
         {"seconds", "length of one slice of one side, in s", 0.5, 0.001, 20,
          parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
