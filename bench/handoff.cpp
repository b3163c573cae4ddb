// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "cpus.hpp"
#include "deployment.hpp"
#include "hand_off.hpp"
#include "round_trips.hpp"
#include "rounds.hpp"
#include "statistics.hpp"

#include <optional>

namespace conch::bench {
namespace {

/// Two processes, and what they wrote down.
class pair_of_processes {
public:
    template <typename Server, typename Body>
    pair_of_processes(const Server& server, bool pinned, Body body)
        : first_{[&](wire_end& parent) {
              settle(0, pinned);
              body(server, *log_, 0, parent, between_.ours);
          }},
          second_{[&](wire_end& parent) {
              settle(1, pinned);
              body(server, *log_, 1, parent, between_.theirs);
          }} {}
    ~pair_of_processes() { between_.ours.hang_up(); }

    /// The passes that a message ended: all, unless a process was kept from waiting in time.
    std::vector<pass> play(const pass_order& o) {
        tell(first_, {.what = pass_order::kind::take});
        tell(second_, {.what = pass_order::kind::begin});
        receive_from_both<bool>(first_.wire(), second_.wire());
        tell(first_, o);
        tell(second_, o);
        receive_from_both<bool>(first_.wire(), second_.wire());
        std::vector<pass> out;
        for (std::size_t i = 0; i < o.count; ++i) {
            if (log_->passes[i].by_message) {
                out.push_back(log_->passes[i]);
            }
        }
        return out;
    }

private:
    static void settle(std::size_t me, bool pinned) {
        if (pinned) {
            use_cpu(1 + me);
        }
    }

    static void tell(worker& w, const pass_order& o) { w.wire().send(o); }

    test::shared_value<pass_log> log_;
    wire_ends between_ = make_wire();
    worker first_;
    worker second_;
};

/// A value for each round; but `all`, which has one for each pass.
struct side {
    std::vector<double> p50s{}, p99s{}, told_p50s{}, all{};

    void add(const std::vector<pass>& passes) {
        std::vector<double> us, told_us;
        for (const pass& p : passes) {
            us.push_back(microseconds(p.granted - p.unlocked));
            told_us.push_back(microseconds(p.told - p.unlocked));
        }
        all.insert(all.end(), us.begin(), us.end());
        p50s.push_back(percentile(us, 50));
        p99s.push_back(percentile(us, 99));
        told_p50s.push_back(percentile(told_us, 50));
    }
};

/// The percentiles 1 to 100.
std::vector<double> distribution(const std::vector<double>& values) {
    std::vector<double> out;
    for (int p = 1; p <= 100; ++p) {
        out.push_back(percentile(values, p));
    }
    return out;
}

report run(const server_choice& where, const arguments& how) {
    const bool pinned = how.count("pin") != 0;
    if (pinned && (!where.own || *where.own == topology::single || *where.own == topology::tls)) {
        use_cpu(0);  // several servers would share it
    }
    const deployment servers{where};
    const pass_order o{.count = how.count("passes"), .shortest_hold = how.nanoseconds("hold")};
    const bool fair = how.count("fair") != 0;
    const auto pass_own = [fair](const config& server, auto&&... rest) {
        pass_through_conch(server, fair, rest...);
    };
    pair_of_processes own{servers.settings(), pinned, pass_own};
    std::optional<pair_of_processes> raw;
    own.play(o);
    if (servers.direct()) {
        const auto pass_raw = [fair](const direct_access& to, auto&&... rest) {
            pass_by_hand(to, fair, rest...);
        };
        raw.emplace(*servers.direct(), pinned, pass_raw);
        raw->play(o);
    }
    round_trips trips{servers};

    side ours, theirs;
    const auto play_ours = [&] {
        ours.add(own.play(o));
        return o.count;
    };
    take_turns(
        how.count("rounds"), [&] { trips.during(play_ours); },
        [&] {
            if (raw) {
                theirs.add(raw->play(o));
            }
        });

    report r;
    servers.describe(r);
    r.add_count("passes", o.count);
    r.add_count("pinned", pinned ? 1 : 0);
    r.add_count("fair", fair ? 1 : 0);
    r.add_median("p50_us", ours.p50s, "us");
    r.add_median("p99_us", ours.p99s, "us");
    r.add_median("raw_p50_us", theirs.p50s, "us");
    r.add_median("raw_p99_us", theirs.p99s, "us");
    r.add_median("raw_message_p50_us", theirs.told_p50s, "us");
    r.add_median("ratio_p50", ratios(ours.p50s, theirs.p50s), "", 3);
    r.add_median("ratio_p99", ratios(ours.p99s, theirs.p99s), "", 3);
    r.add("message_ratio_p50", median(ratios(ours.p50s, theirs.told_p50s)), "", 3);
    trips.add_to(r, "round_trips_per_pass");
    r.add("by_message",
          static_cast<double>(ours.all.size()) / static_cast<double>(o.count * how.count("rounds")),
          "", 3);
    r.add_series("percentiles_us", distribution(ours.all));
    if (raw) {
        r.add_series("raw_percentiles_us", distribution(theirs.all));
    }
    return r;
}

}  // namespace

sub_command handoff_command() {
    return {
        "handoff",
        "one lock that two processes pass to and fro",
        "Two processes pass a lock to and fro. A pass lasts from the start of the unlock in one\n"
        "to the grant in the other, which waits. The limit: two processes with blocking sockets,\n"
        "one to its own subscription; the release script, its message, then the acquire script.\n"
        "A fair lock comes with the message, and needs no acquire script.\n"
        "Who unlocked waits for the other's word, not for the lock: it would win the race.\n"
        "\n"
        "With --pin 1 a server that it starts is kept on the first CPU, the processes on the\n"
        "second and the third, counted round (of two CPUs the second process has the server's),\n"
        "the same for both sides. (Servers of Sentinel or Cluster run where they like.) With\n"
        "--pin 0 the scheduler chooses for each, and its choice moves both sides from one run to\n"
        "the next.\n"
        "\n"
        "topology, limit      what was measured with; whether the limit reached it as conch did,\n"
        "                     without TLS, or not at all, where there is TLS alone: it isn't\n"
        "                     measured then\n"
        "passes, pinned, fair as given\n"
        "p50_us, p99_us       of a pass; raw_: of the limit\n"
        "raw_message_p50_us   the first part of the limit: until the message has come; the\n"
        "                     rest is one script's round trip\n"
        "ratio_p50, ratio_p99 of the two, in one round\n"
        "message_ratio_p50    p50_us / raw_message_p50_us, in one round\n"
        "round_trips_per_pass script calls and other commands for the lock, of both, as all\n"
        "                     servers count them\n"
        "by_message           share of the passes of conch that count: a message ended the\n"
        "                     other's waiting. The rest found it not yet waiting\n"
        "percentiles_us       1 to 100, of the passes of all rounds (JSON only); raw_ too\n",
        {{"passes", "in one slice of one side", 200, 2, most_passes},
         {"pin", "1: the server and each process keep to one CPU; 0: they run anywhere", 1, 0, 1},
         {"fair", "1: the lock is fair", 0, 0, 1},
         {"hold", "the lock is held for so long, to twice as long, before a pass, in s", 0.001,
          0.0001, 1, parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run,
        server_kind::any};
}

}  // namespace conch::bench
