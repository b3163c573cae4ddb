// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "event_loop.hpp"
#include "lock_mix.hpp"
#include "raw_relay.hpp"
#include "rounds.hpp"
#include "statistics.hpp"
#include "worker.hpp"

#include <conch/conch.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <thread>

namespace conch::bench {
namespace {

constexpr const char* lock_name = "conch-bench:contended";

/// Enough for every process to wake up.
constexpr std::chrono::milliseconds head_start{20};

/// To a process: when to begin, and when to stop. The clock is the same for all of them.
struct order {
    steady::time_point begin{};
    steady::time_point end{};
};

/// From a process. A wait that was still going on at the end counts as long as it became.
struct outcome {
    std::uint64_t in_time = 0;  ///< acquisitions granted before the end
    std::uint64_t all = 0;      ///< with those that were granted later
    double squares = 0;         ///< of what each coroutine got in time
    double longest_wait_us = 0;
    std::uint64_t scripts = 0;    ///< sent, by the client's own count
    std::uint64_t hand_offs = 0;  ///< to a local waiter
};

/// Which lock they want.
struct lock_kind {
    bool fair = false;
    bool fenced = false;
    std::size_t readers_percent = 0;  ///< 0: no read-write lock

    lock_mix of(const client& c, std::size_t coroutine) const {
        const mutex_options what{.fenced = fenced};
        if (readers_percent > 0) {
            return {shared_mutex{c, lock_name}, readers_percent, coroutine};
        }
        return lock_mix{fair ? fair_mutex{c, lock_name, what} : mutex{c, lock_name, what}};
    }
};

/// One of the processes: a client, and coroutines that want the lock.
class contender {
public:
    contender(const config& server, std::size_t coroutines, const lock_kind& kind)
        : client_{loop_.context(), server}, got_(coroutines) {
        for (std::size_t i = 0; i < coroutines; ++i) {
            locks_.push_back(kind.of(client_, i));
        }
    }

    outcome run(const order& o) {
        now_ = {};
        order_ = o;
        std::fill(got_.begin(), got_.end(), 0);
        const stats before = client_.stats();
        std::this_thread::sleep_until(o.begin);
        for (std::size_t i = 0; i < got_.size(); ++i) {
            loop_.spawn(contend(locks_[i], got_[i]));
        }
        loop_.run_spawned();
        for (const std::uint64_t got : got_) {
            now_.in_time += got;
            now_.squares += static_cast<double>(got) * static_cast<double>(got);
        }
        const stats after = client_.stats();
        now_.scripts = after.script_calls - before.script_calls;
        now_.hand_offs = after.hand_offs - before.hand_offs;
        return now_;
    }

private:
    asio::awaitable<void> contend(lock_mix& locks, std::uint64_t& got) {
        while (steady::now() < order_.end) {
            const auto asked = steady::now();
            hold h = co_await locks.next().async_lock();
            const auto granted = steady::now();
            now_.longest_wait_us = std::max(now_.longest_wait_us, microseconds(granted - asked));
            got += granted < order_.end ? 1 : 0;
            ++now_.all;
            co_await h.async_unlock();
        }
    }

    event_loop loop_;
    client client_;
    std::vector<lock_mix> locks_{};
    std::vector<std::uint64_t> got_;
    order order_{};
    outcome now_{};
};

void work(const config& server, std::size_t coroutines, const lock_kind& kind, wire_end& parent) {
    contender c{server, coroutines, kind};
    while (parent.wait_for_more()) {
        parent.send(c.run(parent.receive<order>()));
    }
}

/// The figures of conch's side, a value for each round.
struct figures {
    std::vector<double> rates{}, fairness{}, process_fairness{}, calls{}, sent{}, hand_offs{},
        longest_ms{};

    void add(const std::vector<outcome>& outcomes, std::size_t coroutines, double seconds,
             std::uint64_t server_calls) {
        outcome sum;
        double process_squares = 0;
        for (const outcome& o : outcomes) {
            sum.in_time += o.in_time;
            sum.all += o.all;
            sum.squares += o.squares;
            sum.longest_wait_us = std::max(sum.longest_wait_us, o.longest_wait_us);
            sum.scripts += o.scripts;
            sum.hand_offs += o.hand_offs;
            process_squares += static_cast<double>(o.in_time) * static_cast<double>(o.in_time);
        }
        const auto processes = static_cast<double>(outcomes.size());
        const auto in_time = static_cast<double>(sum.in_time);
        const auto all = static_cast<double>(sum.all);
        rates.push_back(in_time / seconds);
        fairness.push_back(jain(in_time, sum.squares, processes * static_cast<double>(coroutines)));
        process_fairness.push_back(jain(in_time, process_squares, processes));
        calls.push_back(static_cast<double>(server_calls) / all);
        sent.push_back(static_cast<double>(sum.scripts) / all);
        hand_offs.push_back(static_cast<double>(sum.hand_offs) / all);
        longest_ms.push_back(sum.longest_wait_us / 1000);
    }
};

report tell(const arguments& how, const figures& f, const std::vector<double>& raw_rates) {
    report r;
    r.add_count("processes", how.count("processes"));
    r.add_count("coroutines", how.count("coroutines"));
    r.add_count("fenced", how.count("fenced"));
    r.add_count("fair", how.count("fair"));
    r.add_count("readers", how.count("readers"));
    r.add("acquisitions_per_s", median(f.rates), "/s", 0);
    r.add("raw_acquisitions_per_s", median(raw_rates), "/s", 0);
    r.add("ratio", median(ratios(f.rates, raw_rates)), "", 3);
    r.add("jain_index", median(f.fairness), "", 3);
    r.add("jain_index_of_processes", median(f.process_fairness), "", 3);
    r.add("longest_wait_ms", percentile(f.longest_ms, 100), "ms");
    r.add("longest_wait_median_ms", median(f.longest_ms), "ms");
    r.add("script_calls_per_acquisition", median(f.calls), "", 3);
    r.add("sent_scripts_per_acquisition", median(f.sent), "", 3);
    r.add("local_hand_offs_per_acquisition", median(f.hand_offs), "", 3);
    r.add_series("ratios", ratios(f.rates, raw_rates));
    return r;
}

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t coroutines = how.count("coroutines");
    const auto time = how.nanoseconds("seconds");
    const lock_kind kind{.fair = how.count("fair") != 0,
                         .fenced = how.count("fenced") != 0,
                         .readers_percent = how.count("readers")};
    std::deque<worker> workers;
    for (std::size_t i = 0; i < how.count("processes"); ++i) {
        workers.emplace_back(
            [&](wire_end& parent) { work(redis.settings(), coroutines, kind, parent); });
    }
    raw_relay raw{redis.settings()};
    connection observer{redis.settings()};
    const auto own_slice = [&] {
        const order o{steady::now() + head_start, steady::now() + head_start + time};
        for (worker& w : workers) {
            w.wire().send(o);
        }
        std::vector<outcome> outcomes;
        for (worker& w : workers) {
            outcomes.push_back(w.wire().receive<outcome>());
        }
        return outcomes;
    };
    const slice_length length{.time = how.seconds("seconds")};
    own_slice();
    raw.run(length);

    figures f;
    std::vector<double> raw_rates;
    take_turns(
        how.count("rounds"),
        [&] {
            const std::uint64_t before = observer.calls("evalsha");
            const std::vector<outcome> outcomes = own_slice();
            f.add(outcomes, coroutines, length.time.count(), observer.calls("evalsha") - before);
        },
        [&] { raw_rates.push_back(raw.run(length).pairs_per_s); });
    return tell(how, f, raw_rates);
}

}  // namespace

sub_command contended_command() {
    return {
        "contended",
        "processes, and coroutines in each, on one lock",
        "Coroutines of several processes, each with one client on one thread, lock and unlock\n"
        "one lock, and do nothing in between. The limit is that of any client which asks the\n"
        "server for each acquisition: one process, one blocking socket, on which each release\n"
        "leaves in one write with the next acquire, encoded beforehand. Passes from one process\n"
        "to another take longer than that: see handoff.\n"
        "\n"
        "Fencing tokens (--fenced 1) are the server's, so that it hears of each hand-off inside\n"
        "of a process, too. The limit goes without them. A fair lock (--fair 1) goes to those who\n"
        "wait in the order in which they came, and so through the server each time. Of a\n"
        "read-write lock (--readers 99), readers hold it together.\n"
        "\n"
        "acquisitions_per_s             of all processes together; raw_: of the limit\n"
        "ratio                          of the two, in one round\n"
        "jain_index                     of what each coroutine got: 1 if all got as much, 1/n\n"
        "                               if one of n got all; the same _of_processes\n"
        "longest_wait_ms                the longest of all rounds, and the median of the\n"
        "                               longest of each\n"
        "script_calls_per_acquisition   by the server's count of EVALSHA (of all its clients)\n"
        "sent_scripts_per_acquisition   the same by the clients' own count\n"
        "local_hand_offs_per_acquisition\n"
        "                               locks passed on inside of a process\n"
        "ratios                         of each round (JSON only)\n",
        {{"processes", "that want the lock", 4, 1, 256},
         {"coroutines", "in each of them", 16, 1, 10'000},
         {"fenced", "1: each acquisition has a fencing token", 0, 0, 1},
         {"fair", "1: the lock is fair", 0, 0, 1},
         {"readers", "so many percent only read; 0: no read-write lock", 0, 0, 100},
         {"seconds", "length of one slice of one side, in s", 0.5, 0.001, 20,
          parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
