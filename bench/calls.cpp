// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "direct_access.hpp"
#include "event_loop.hpp"
#include "pair_loop.hpp"
#include "raw_baseline.hpp"
#include "rounds.hpp"
#include "side.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conch::bench {
namespace {

/// So much that nobody is refused.
constexpr rate allowed{.limit = 100'000'000, .window = std::chrono::seconds{1}};

/// So high that no latch opens.
constexpr const char* highest_count = "2147483647";

enum class called { verdicts, count_downs, permits };

called called_of(const arguments& how) {
    const bool of_latches = how.count("latch") != 0;
    const bool of_semaphores = how.count("permits") != 0;
    if (of_latches && of_semaphores) {
        throw usage_error{"--latch and --permits exclude each other"};
    }
    return of_latches ? called::count_downs : of_semaphores ? called::permits : called::verdicts;
}

/// conch's side: one client, one thread, and coroutines that call as fast as they can, each for a
/// rate limiter, a latch or a semaphore of its own.
class call_loop {
public:
    call_loop(const config& server, std::size_t coroutines, called what)
        : client_{loop_.context(), server} {
        for (std::size_t i = 0; i < coroutines; ++i) {
            switch (what) {
                case called::verdicts:
                    limiters_.emplace_back(client_, own_name(i), allowed, rate_algorithm::gcra);
                    break;
                case called::count_downs: latches_.emplace_back(client_, own_name(i)); break;
                case called::permits: semaphores_.emplace_back(client_, own_name(i)); break;
            }
        }
    }

    slice run(const slice_length& length) {
        latencies_us_.reserve(last_count_ + last_count_ / 2);
        for (const rate_limiter& one : limiters_) {
            loop_.spawn(ask(one));
        }
        for (const latch& one : latches_) {
            loop_.spawn(count_down(one));
        }
        for (const counting_semaphore& one : semaphores_) {
            loop_.spawn(take_and_give(one));
        }
        const slice_meter meter;
        end_ = steady::now() + std::chrono::duration_cast<steady::duration>(length.time);
        loop_.run_spawned();
        last_count_ = latencies_us_.size();
        return meter.finish(std::exchange(latencies_us_, {}));
    }

private:
    asio::awaitable<void> ask(const rate_limiter& one) {
        for (auto before = steady::now(); before < end_; before = ended(before)) {
            const rate_verdict v = co_await one.async_try_acquire();
            if (!v.allowed) {
                throw std::runtime_error{"a rate limiter of the benchmark is used elsewhere"};
            }
        }
    }
    asio::awaitable<void> count_down(const latch& one) {
        for (auto before = steady::now(); before < end_; before = ended(before)) {
            co_await one.async_count_down();
        }
    }
    asio::awaitable<void> take_and_give(const counting_semaphore& one) {
        for (auto before = steady::now(); before < end_; before = ended(before)) {
            co_await one.async_acquire();
            co_await one.async_release();
        }
    }
    steady::time_point ended(steady::time_point begun) {
        const auto now = steady::now();
        latencies_us_.push_back(microseconds(now - begun));
        return now;
    }

    event_loop loop_;
    client client_;
    std::vector<rate_limiter> limiters_{};
    std::vector<latch> latches_{};
    std::vector<counting_semaphore> semaphores_{};
    steady::time_point end_{};
    std::vector<double> latencies_us_{};
    std::size_t last_count_ = 0;
};

/// The counters of both sides.
void set_all(connection& control, std::size_t count, const char* number) {
    for (std::size_t i = 0; i < count; ++i) {
        control.command({"MSET", own_name(i), number, raw_name(i), number});
    }
}

std::vector<slot_command> commands_of(called what, bool sharded) {
    switch (what) {
        case called::verdicts: return verdict_commands(allowed);
        case called::count_downs: return count_down_commands();
        case called::permits: return counting_commands(sharded);
    }
    return {};
}

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t coroutines = how.count("coroutines");
    const called what = called_of(how);
    const slice_length length{.time = how.seconds("seconds")};
    connection control{redis.settings()};
    if (what != called::verdicts) {
        set_all(control, coroutines, what == called::count_downs ? highest_count : "1");
    }
    call_loop own{redis.settings(), coroutines, what};
    own.run(length);
    // The first half of a pair is answered by how many requests were granted.
    raw_baseline raw{redis.settings(), coroutines,
                     commands_of(what, find_direct_access(redis.settings()).sharded),
                     reply_counter{1, 1}};
    raw.run(length);

    side ours, theirs;
    take_turns(
        how.count("rounds"), [&] { ours.add(own.run(length)); },
        [&] { theirs.add(raw.run(length)); });
    // Of a counter also what tells a repeated request, which stays for a minute.
    control.unlink_all(std::string{tag} + '*');
    control.unlink_all("conch_once:" + std::string{tag} + '*');

    report r;
    r.add_count("coroutines", coroutines);
    r.add_count("latch", what == called::count_downs ? 1 : 0);
    r.add_count("permits", what == called::permits ? 1 : 0);
    r.add_median("calls_per_s", ours.rates, "/s", 0);
    r.add_median("raw_calls_per_s", theirs.rates, "/s", 0);
    r.add_median("ratio", ratios(ours.rates, theirs.rates), "", 3);
    r.add_median("p50_us", ours.p50s, "us");
    r.add_median("p99_us", ours.p99s, "us");
    r.add_median("raw_p50_us", theirs.p50s, "us");
    r.add_median("raw_p99_us", theirs.p99s, "us");
    r.add_median("cpu_us_per_call", ours.cpus, "us", 2);
    r.add_median("raw_cpu_us_per_call", theirs.cpus, "us", 2);
    r.add_median("allocations_per_call", ours.allocations, "", 3);
    r.add_series("ratios", ratios(ours.rates, theirs.rates));
    return r;
}

}  // namespace

sub_command calls_command() {
    return {
        "calls",
        "verdicts of rate limiters, or calls of counters, through one connection",
        "Coroutines of one client on one thread ask for one permit at a time, each of a rate\n"
        "limiter of its own, with rate_algorithm::gcra; none is refused. With --latch 1 each\n"
        "counts a latch of its own down, by one; none opens. With --permits 1 each takes the\n"
        "permit of a counting_semaphore of its own, and gives it back: a pair counts as a call.\n"
        "The limit: the same script calls, encoded beforehand, in a sliding window of the same\n"
        "depth over one blocking socket.\n"
        "\n"
        "calls_per_s, raw_calls_per_s   permits granted, or count-downs, or pairs, per second\n"
        "ratio                          of the two, in one round\n"
        "p50_us, p99_us                 from the call of async_try_acquire or async_count_down to\n"
        "                               its answer; raw_: from the write to the reply\n"
        "cpu_us_per_call                CPU time of the client, user and system\n"
        "allocations_per_call           calls of malloc (and its aligned forms)\n"
        "ratios                         of each round (JSON only)\n",
        {{"coroutines", "under way at any time, on both sides", 128, 1, 1'000'000},
         {"latch", "1: count-downs; 0: verdicts", 0, 0, 1},
         {"permits", "1: pairs of a counting_semaphore; 0: none", 0, 0, 1},
         {"seconds", "length of one slice of one side, in s", 0.5, 0.001, 20,
          parameter::kind::real},
         {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
          least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
