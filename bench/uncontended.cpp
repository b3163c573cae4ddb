// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "cpus.hpp"
#include "deployment.hpp"
#include "pair_loop.hpp"
#include "raw_baseline.hpp"
#include "round_trips.hpp"
#include "rounds.hpp"
#include "side.hpp"

#include <optional>
#include <string>
#include <vector>

namespace conch::bench {
namespace {

/// The semaphores of both sides, each with as many permits as are taken at a time.
class semaphores {
public:
    semaphores(const config& server, std::size_t count, std::size_t permits) : control_{server} {
        const std::string all = std::to_string(permits);
        for (std::size_t i = 0; i < count; ++i) {
            names_.insert(names_.end(), {own_name(i), raw_name(i)});
        }
        for (const std::string& name : names_) {
            control_.command({"SET", name, all});
        }
    }
    semaphores(const semaphores&) = delete;
    semaphores& operator=(const semaphores&) = delete;
    ~semaphores() {
        try {
            for (const std::string& name : names_) {
                control_.command({"DEL", name});
            }
        } catch (const std::exception&) {  // of a server that has gone
        }
    }

private:
    connection control_;
    std::vector<std::string> names_{};
};

report run(const server_choice& where, const arguments& how) {
    const bool pinned = how.count("pin") != 0;
    if (pinned) {
        use_cpu(0);
    }
    const deployment servers{where};
    const std::size_t coroutines = how.count("coroutines");
    const slice_length length{.time = how.seconds("seconds")};
    const std::size_t permits = how.count("permits");
    std::optional<semaphores> all;
    if (permits != 0) {
        if (!servers.direct()) {
            throw usage_error{"--permits needs a server without TLS"};
        }
        all.emplace(servers.direct()->home, coroutines, permits);
    }
    const std::size_t locks = how.count("locks");
    if (permits != 0 && locks != 1) {
        throw usage_error{"--permits and --locks exclude each other"};
    }
    pair_loop own{servers.settings(), coroutines, {.permits = permits, .locks = locks}};
    std::optional<raw_baseline> raw;
    round_trips trips{servers};
    own.run(length);
    if (const auto& to = servers.direct()) {
        raw.emplace(to->home, coroutines,
                    permits == 0 ? lock_commands(to->sharded, locks)
                                 : permit_commands(permits, to->sharded));
        raw->run(length);
    }

    side ours, theirs;
    const auto run_ours = [&] {
        const slice s = own.run(length);
        ours.add(s);
        return s.latencies_us.size();
    };
    take_turns(
        how.count("rounds"), [&] { trips.during(run_ours); },
        [&] {
            if (raw) {
                theirs.add(raw->run(length));
            }
        });

    report r;
    servers.describe(r);
    r.add_count("coroutines", coroutines);
    r.add_count("permits", permits);
    r.add_count("locks", locks);
    r.add_count("pinned", pinned ? 1 : 0);
    r.add_median("pairs_per_s", ours.rates, "/s", 0);
    r.add_median("raw_pairs_per_s", theirs.rates, "/s", 0);
    r.add_median("ratio", ratios(ours.rates, theirs.rates), "", 3);
    trips.add_to(r, "round_trips_per_pair");
    r.add_median("p50_us", ours.p50s, "us");
    r.add_median("p99_us", ours.p99s, "us");
    r.add_median("p999_us", ours.p999s, "us");
    r.add_median("raw_p50_us", theirs.p50s, "us");
    r.add_median("raw_p99_us", theirs.p99s, "us");
    r.add_median("raw_p999_us", theirs.p999s, "us");
    r.add_median("latency_ratio", ratios(ours.p50s, theirs.p50s), "", 3);
    r.add_median("cpu_us_per_pair", ours.cpus, "us", 2);
    r.add_median("raw_cpu_us_per_pair", theirs.cpus, "us", 2);
    r.add_median("allocations_per_pair", ours.allocations, "", 3);
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
        "one blocking socket, to the server that has the locks. All names have one hash tag, so\n"
        "of a cluster one node is measured.\n"
        "\n"
        "With --pin 1 the client and the servers that it starts share one CPU. One coroutine and\n"
        "its server are never at work at a time: what they do is compared then; else it is, for\n"
        "the most part, how long a CPU takes to wake another, and from which call.\n"
        "\n"
        "With --permits N each coroutine takes the N permits of a semaphore of its own, and gives\n"
        "them back. With --locks N it takes N locks of its own as one multi_lock; the limit asks\n"
        "for them one after the other.\n"
        "\n"
        "topology, limit                what was measured with; whether the limit reached it as\n"
        "                               conch did, without TLS, or not at all, where there is TLS\n"
        "                               alone: it isn't measured then\n"
        "pairs_per_s, raw_pairs_per_s   lock + unlock pairs per second\n"
        "ratio                          of the two, in one round\n"
        "round_trips_per_pair           script calls and other commands for locks, as all servers\n"
        "                               count them (none that is made by the clock, such as\n"
        "                               PING): what one coroutine waits for. Of many, one call\n"
        "                               may serve several pairs\n"
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
         {"permits", "so many of a semaphore at a time; 0: a mutex", 0, 0, 1'000},
         {"locks", "so many at once, as a multi_lock", 1, 1, 31},
         {"pin", "1: all on one CPU; 0: they run anywhere", 0, 0, 1},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run,
        server_kind::any};
}

}  // namespace conch::bench
