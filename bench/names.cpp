// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "connection.hpp"
#include "kind_names.hpp"
#include "name_waiters.hpp"
#include "raw_names.hpp"
#include "rounds.hpp"
#include "statistics.hpp"
#include "usage.hpp"

#include <algorithm>
#include <string>

namespace conch::bench {
namespace {

constexpr const char* prefix = "conch-bench:name:";
constexpr const char* client_name = "conch-bench-names";
constexpr const char* lease_ms = "600000";

double per_second(std::size_t count, steady::time_point since) {
    return static_cast<double>(count) /
           std::chrono::duration<double>{steady::now() - since}.count();
}

/// A value for each round.
struct side {
    std::vector<double> parked{}, granted{};
};

/// Who holds all locks before they are waited for, and releases them.
class blocker {
public:
    blocker(const config& server, std::size_t count)
        : control_{server}, names_{prefix, count, 0, lease_ms} {}

    void take() { control_.pipeline(names_.acquires, names_.count); }
    void release() { control_.pipeline(names_.releases, names_.count); }

    /// Channels of these locks with listeners.
    std::size_t subscriptions() {
        const std::string pattern = std::string{"redisson_lock__channel:{"} + prefix + '*';
        return control_.command({"PUBSUB", "CHANNELS", pattern}).parts.size();
    }
    std::uint64_t connections() { return control_.connections_named(client_name); }

private:
    connection control_;
    raw_names names_;
};

/// By hand: a try of each, then a subscription and a second try of each, then, without looking at
/// the messages, a third.
class raw_side {
public:
    raw_side(const config& server, std::size_t count)
        : connection_{server}, names_{prefix, count, count, lease_ms} {}

    void run(blocker& other, side& out) {
        other.take();
        const auto asked = steady::now();
        connection_.pipeline(names_.acquires, names_.count);
        connection_.pipeline(names_.subscriptions, 2 * names_.count);
        out.parked.push_back(per_second(names_.count, asked));
        other.release();
        const auto released = steady::now();
        connection_.pipeline(names_.acquires, 2 * names_.count);  // with the messages
        out.granted.push_back(per_second(names_.count, released));
        connection_.pipeline(names_.unsubscriptions, names_.count);
        connection_.pipeline(names_.releases, names_.count);
    }

private:
    connection connection_;
    raw_names names_;
};

struct figures {
    side ours{}, theirs{};
    double bytes = 0;  ///< of each waiter
    std::uint64_t connections = 0;
    std::size_t subscriptions = 0;
};

void own_round(name_waiters& waiters, blocker& other, std::size_t count, figures& f) {
    other.take();
    const std::size_t before = heap_bytes();
    const auto asked = steady::now();
    waiters.park_all();
    f.ours.parked.push_back(per_second(count, asked));
    if (f.bytes == 0) {
        f.bytes = static_cast<double>(heap_bytes() - before) / static_cast<double>(count);
    }
    f.connections = std::max(f.connections, other.connections());
    f.subscriptions = std::max(f.subscriptions, other.subscriptions());
    other.release();
    const auto released = steady::now();
    waiters.await_grants();
    f.ours.granted.push_back(per_second(count, released));
    waiters.release_all();
}

struct idleness {
    double polls = 0;  ///< each second
    double cpu = 0;    ///< of one CPU, of this process
};

/// Of a client as it is by default, while all wait and no lock is released.
idleness idle(const config& server, blocker& other, std::size_t count) {
    constexpr std::chrono::seconds settled{2};  // each has begun to wait beside all others
    // Longer than any interval between two polls of one name.
    const steady::duration watched =
        std::chrono::seconds{4} + static_cast<int>(count) * std::chrono::microseconds{600};
    event_loop loop;
    name_waiters waiters{loop, server, prefix, count};
    other.take();
    waiters.park_all();
    loop.run_until(steady::now() + settled);
    const std::uint64_t calls = waiters.redis().stats().script_calls;
    const double cpu = cpu_us();
    const auto since = steady::now();
    loop.run_until(since + watched);
    const idleness found{
        .polls = per_second(waiters.redis().stats().script_calls - calls, since),
        .cpu = (cpu_us() - cpu) / microseconds(steady::now() - since)};
    other.release();
    waiters.await_grants();
    waiters.release_all();
    return found;
}

/// Of one kind, held by another client of the same process.
report run_kind(const config& settings, std::size_t count, name_kind kind) {
    config of_holder = settings;
    of_holder.client_name.clear();
    const std::string all = std::string{"*"} + prefix + '*';
    // By a connection whose memory doesn't count.
    const auto channels = [&] {
        return connection{settings}.command({"PUBSUB", "CHANNELS", all}).parts.size();
    };
    event_loop loop;
    kind_names holder{loop, of_holder, prefix, count, kind};
    kind_names waiters{loop, settings, prefix, count, kind};
    holder.block_all();
    const std::size_t before = heap_bytes();
    waiters.ask_for_all();
    while (channels() < count) {
        loop.run_until(steady::now() + std::chrono::milliseconds{20});
    }
    // Each asks once more when it listens.
    loop.run_until(steady::now() + std::chrono::milliseconds{300});
    const double bytes = static_cast<double>(heap_bytes() - before) / static_cast<double>(count);
    connection control{settings};
    report r;
    r.add_count("names", count);
    r.add_count("kind", static_cast<std::size_t>(kind));
    r.add_count("connections", control.connections_named(client_name));
    r.add_count("subscriptions", channels());
    r.add("bytes_per_waiter", bytes, "bytes", 0);
    const auto released = steady::now();
    holder.let_all_go();
    waiters.await_grants();
    r.add("granted_per_s", per_second(count, released), "/s", 0);
    waiters.release_all();
    control.unlink_all(all);
    return r;
}

report run(const server_choice& where, const arguments& how) {
    const server redis{where};
    const std::size_t count = how.count("names");
    config settings = redis.settings();
    settings.client_name = client_name;
    settings.max_poll_interval = std::chrono::hours{1};
    if (const auto kind = static_cast<name_kind>(how.count("kind")); kind != name_kind::mutex) {
        return run_kind(settings, count, kind);
    }

    figures f;
    event_loop loop;
    name_waiters waiters{loop, settings, prefix, count};
    raw_side raw{redis.settings(), count};
    blocker other{redis.settings(), count};
    take_turns(
        how.count("rounds"), [&] { own_round(waiters, other, count, f); },
        [&] { raw.run(other, f.theirs); });

    const idleness waiting = idle(redis.settings(), other, count);

    report r;
    r.add_count("names", count);
    r.add_count("connections", f.connections);
    r.add_count("subscriptions", f.subscriptions);
    r.add("bytes_per_waiter", f.bytes, "bytes", 0);
    r.add("parked_per_s", median(f.ours.parked), "/s", 0);
    r.add("raw_parked_per_s", median(f.theirs.parked), "/s", 0);
    r.add("parked_ratio", median(ratios(f.ours.parked, f.theirs.parked)), "", 3);
    r.add("granted_per_s", median(f.ours.granted), "/s", 0);
    r.add("raw_granted_per_s", median(f.theirs.granted), "/s", 0);
    r.add("granted_ratio", median(ratios(f.ours.granted, f.theirs.granted)), "", 3);
    r.add("idle_polls_per_s", waiting.polls, "/s", 0);
    r.add("idle_cpu", waiting.cpu, "CPUs", 3);
    return r;
}

}  // namespace

sub_command names_command() {
    return {
        "names",
        "waiters for many names at once, through one connection",
        "One client asks for many locks at once, all of which are held elsewhere, and waits. When\n"
        "all wait, all locks are released. The limit: one blocking socket that sends what conch\n"
        "must send, encoded beforehand: a try, a subscription with a second try, and a third.\n"
        "config::max_poll_interval is 1 h: nobody tries by the clock, as the tries are counted to\n"
        "know when all wait. Then all wait once more, with the default of 1 s, for some seconds.\n"
        "\n"
        "With --kind 1 they are fair locks, 2: read-write locks that are written, for reading,\n"
        "3: semaphores with leases, 4: counting semaphores, 5: latches, 6: multi_locks of two, of\n"
        "which one is held. Another client of the same process holds them and lets them go: once,\n"
        "and without the limit and the seconds that follow.\n"
        "\n"
        "connections        of the client, by CLIENT LIST\n"
        "subscriptions      by PUBSUB CHANNELS, when all wait\n"
        "bytes_per_waiter   on the client's heap, in the first round\n"
        "parked_per_s       names by the time until all wait and listen\n"
        "granted_per_s      names by the time from the last release until all are granted\n"
        "..._ratio          of conch and the limit (raw_...), in one round\n"
        "idle_polls_per_s   tries by the clock while no lock is released\n"
        "idle_cpu           what the client uses of a CPU meanwhile\n",
        {{"names", "locks, each with one waiter", 10'000, 1, 100'000},
         {"kind", "what is waited for; 0: mutexes", 0, 0, name_kinds - 1},
         {"rounds", "of both sides", least_rounds, least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
