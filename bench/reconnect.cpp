// SPDX-License-Identifier: BSL-1.0
#include "comeback.hpp"
#include "commands.hpp"
#include "outage.hpp"
#include "rounds.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <initializer_list>

namespace conch::bench {
namespace {

double ms_since(steady::time_point begin, steady::time_point end) {
    return microseconds(end - begin) / 1000;
}

/// A value for each round.
struct side {
    std::vector<double> first_grants{}, wholes{};
};

/// Makes the processes lose their connection; returns how they came back, and since when they
/// could.
template <typename Note>
void strike_once(outage& server, std::initializer_list<worker*> processes, Note note) {
    for (worker* w : processes) {
        w->wire().send(true);
        (void)w->wire().receive<bool>();
    }
    const auto since = server.strike();
    std::vector<comeback> all;
    for (worker* w : processes) {
        all.push_back(w->wire().receive<comeback>());
    }
    note(since, all);
}

report run(const server_choice& where, const arguments& how) {
    const std::size_t count = how.count("holds");
    outage own_server{where, {holder_name, waiter_name}};
    outage raw_server{where, {raw_name}};
    worker holder{[&](wire_end& p) { hold_through(own_server.settings(), count, p); }};
    (void)holder.wire().receive<bool>();
    worker waiter{[&](wire_end& p) { wait_through(own_server.settings(), count, p); }};
    (void)waiter.wire().receive<bool>();
    worker raw{[&](wire_end& p) { come_back_by_hand(raw_server.settings(), count, p); }};
    (void)raw.wire().receive<bool>();

    side ours, theirs;
    std::uint64_t lost = 0;
    take_turns(
        how.count("rounds"),
        [&] {
            strike_once(own_server, {&holder, &waiter}, [&](auto since, const auto& all) {
                ours.first_grants.push_back(ms_since(since, all[0].first_grant));
                ours.wholes.push_back(ms_since(since, std::max(all[0].whole, all[1].whole)));
                lost += all[0].lost + all[1].lost;
            });
        },
        [&] {
            strike_once(raw_server, {&raw}, [&](auto since, const auto& all) {
                theirs.first_grants.push_back(ms_since(since, all[0].first_grant));
                theirs.wholes.push_back(ms_since(since, all[0].whole));
            });
        });

    report r;
    r.add_text("fault", where.url ? "connections killed" : "restart");
    r.add_count("holds", count);
    r.add_count("waiters", count);
    r.add_count("lost", lost);
    r.add("first_grant_ms", median(ours.first_grants), "ms");
    r.add("first_grant_max_ms", percentile(ours.first_grants, 100), "ms");
    r.add("raw_first_grant_ms", median(theirs.first_grants), "ms");
    r.add("whole_ms", median(ours.wholes), "ms");
    r.add("whole_max_ms", percentile(ours.wholes, 100), "ms");
    r.add("raw_whole_ms", median(theirs.wholes), "ms");
    r.add("whole_ratio", median(ratios(ours.wholes, theirs.wholes)), "", 3);
    return r;
}

}  // namespace

sub_command reconnect_command() {
    return {
        "reconnect",
        "how soon all is as before when the server was restarted",
        "One process holds many locks, another waits for each of them. Their server is killed and\n"
        "started again with its data (AOF); a server that was given by its URL only ends their\n"
        "connections. Times are from the start of the new server (from the command that ends the\n"
        "connections) on. The limit: another such server, whose only client tries to connect\n"
        "each millisecond, then sends the same, encoded beforehand, through one blocking socket.\n"
        "config::max_poll_interval is 1 h (default: 1 s): nobody tries by the clock, as the tries\n"
        "are counted. operation_timeout is 1 min (5 s): none ends before the server is back.\n"
        "\n"
        "first_grant_ms   until a lock is granted that was asked for since the loss\n"
        "whole_ms         until each hold is checked and each waiter listens and has asked again\n"
        "..._max_ms       the longest of all rounds\n"
        "raw_...          of the limit\n"
        "lost             holds that were lost, of all rounds\n",
        {{"holds", "locks held, and as many waited for", 10'000, 1, 100'000},
         {"rounds", "of both sides", least_rounds, least_rounds, 10'001}},
        &run};
}

}  // namespace conch::bench
