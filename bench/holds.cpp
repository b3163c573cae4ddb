// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "hold_keeper.hpp"
#include "raw_holds.hpp"
#include "statistics.hpp"
#include "usage.hpp"

#include <algorithm>
#include <cstdint>

namespace conch::bench {
namespace {

/// Looks at each hold, often enough to see each renewal: from the moves of the deadlines follow the
/// times between the sendings of renewals.
class onlooker {
public:
    onlooker(const std::vector<hold>& holds, duration lease)
        : holds_{holds}, interval_{lease / 3}, seen_(holds.size()) {
        look(false);
    }

    void look() { look(true); }

    std::vector<double> lateness_ms{};
    duration least_remaining = forever;

private:
    void look(bool note) {
        const time_point now = conch::clock::now();
        for (std::size_t i = 0; i < holds_.size(); ++i) {
            const time_point until = holds_[i].valid_until();
            if (note && until != seen_[i]) {
                const duration late = std::max(until - seen_[i] - interval_, duration::zero());
                lateness_ms.push_back(std::chrono::duration<double, std::milli>{late}.count());
            }
            seen_[i] = until;
            least_remaining = std::min(least_remaining, until - now);
        }
    }

    const std::vector<hold>& holds_;
    duration interval_;
    std::vector<time_point> seen_;
};

struct figures {
    std::size_t lost = 0;
    double bytes = 0;  ///< of each hold
    std::vector<double> shares{};
    double least_remaining_ms = 0;
    std::vector<double> lateness_ms{};
    stats counters{};
};

double milliseconds(duration d) { return std::chrono::duration<double, std::milli>{d}.count(); }

// The share of each third of the lease, in which each hold is renewed once. The onlooker's own work
// doesn't count.
void watch(event_loop& loop, const hold_keeper& keeper, duration lease, std::size_t rounds,
           figures& f) {
    constexpr int looks = 2;
    loop.run_until(steady::now() + lease / 3);
    onlooker eyes{keeper.holds(), lease};
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto begin = steady::now();
        double cpu = 0;
        for (int look = 1; look <= looks; ++look) {
            const double before = cpu_us();
            loop.run_until(begin + lease / 3 / looks * look);
            cpu += cpu_us() - before;
            eyes.look();
        }
        f.shares.push_back(cpu / microseconds(steady::now() - begin));
    }
    f.lateness_ms = std::move(eyes.lateness_ms);
    f.least_remaining_ms = milliseconds(eyes.least_remaining);
}

figures keep(const config& server, std::size_t count, duration lease, std::size_t rounds) {
    figures f;
    event_loop loop;
    hold_keeper keeper{loop, server, "conch-bench:hold:", count, lease};
    keeper.warm_up();
    const std::size_t before = heap_bytes();
    keeper.take_all();
    f.bytes = static_cast<double>(heap_bytes() - before) / static_cast<double>(count);
    watch(loop, keeper, lease, rounds, f);
    f.counters = keeper.redis().stats();
    for (const hold& h : keeper.holds()) {
        f.lost += h.owns_lock() ? 0 : 1;
    }
    keeper.release_all();
    return f;
}

void sweep(raw_holds& raw, std::size_t times, std::chrono::duration<double> interval,
           std::vector<double>& shares) {
    raw.renew_all();
    for (std::size_t i = 0; i < times; ++i) {
        const double before = cpu_us();
        raw.renew_all();
        shares.push_back((cpu_us() - before) / 1e6 / interval.count());
    }
}

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t count = how.count("holds");
    const std::size_t rounds = how.count("rounds");
    const duration lease = how.nanoseconds("lease");
    std::vector<double> raw_shares;
    const auto raw_half = [&](std::size_t times) {
        raw_holds raw{redis.settings(), "conch-bench:raw-hold:", count, "3600000"};
        sweep(raw, times, lease / 3, raw_shares);
    };
    raw_half(rounds / 2);
    const figures f = keep(redis.settings(), count, lease, rounds);
    raw_half(rounds - rounds / 2);

    const double share = median(f.shares), raw_share = median(raw_shares);
    const auto renewals = static_cast<double>(f.counters.renewals);
    report r;
    r.add_count("holds", count);
    r.add("lease_ms", milliseconds(lease), "ms", 0);
    r.add_count("lost", f.lost);
    r.add("cpu_share", share, "of a core", 4);
    r.add("raw_cpu_share", raw_share, "of a core", 4);
    r.add("ratio", share / raw_share, "", 2);
    r.add("lateness_p50_ms", percentile(f.lateness_ms, 50), "ms", 2);
    r.add("lateness_p99_ms", percentile(f.lateness_ms, 99), "ms", 2);
    r.add("lateness_max_ms", percentile(f.lateness_ms, 100), "ms", 2);
    r.add("counted_lateness_mean_ms", milliseconds(f.counters.renewal_lateness) / renewals, "ms",
          2);
    r.add("counted_lateness_max_ms", milliseconds(f.counters.latest_renewal), "ms", 2);
    r.add("least_remaining_ms", f.least_remaining_ms, "ms", 0);
    r.add_count("renewals_seen", f.lateness_ms.size());
    r.add("holds_per_script", renewals / static_cast<double>(f.counters.renewal_batches), "", 1);
    r.add("bytes_per_hold", f.bytes, "bytes", 0);
    return r;
}

}  // namespace

sub_command holds_command() {
    return {
        "holds",
        "many locks held and renewed by one client",
        "One client takes many locks and keeps them renewed, each three times in its lease. The\n"
        "limit: the same renewal scripts, encoded beforehand, sent by one blocking socket as\n"
        "fast as it can, before and after.\n"
        "\n"
        "lost                     holds that were not renewed in time\n"
        "cpu_share                CPU time of the client, user and system, by time: median over\n"
        "                         the rounds, each a third of the lease\n"
        "raw_cpu_share            the same of the limit, by the same time\n"
        "lateness_p99_ms          how much later than a third of the lease after the last one a\n"
        "                         renewal was sent, by the moves of valid_until(); p50, max\n"
        "counted_lateness_...     the same by the client's own count, from the first renewal on\n"
        "least_remaining_ms       the least that was left of a lease, when looked at\n"
        "renewals_seen            by the moves of valid_until()\n"
        "bytes_per_hold           on the client's heap, without the user's handle, and without\n"
        "                         what a client needs for its first lock\n",
        {{"holds", "locks", 10'000, 1, 1'000'000},
         {"lease", "in s", 3, 0.3, 3600, parameter::kind::real},
         {"rounds", "each a third of the lease; one more goes first and doesn't count",
          least_rounds, least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
