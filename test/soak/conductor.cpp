// SPDX-License-Identifier: BSL-1.0
#include "soak/conductor.hpp"

#include "support/run.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace conch::soak {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Longer than the longest lease, the longest pause before connecting again and the clients'
/// patience with a silent connection together.
constexpr auto recovery_limit = 20s;

}  // namespace

conductor::conductor(const options& o, std::function<bool()> interrupted)
    : options_{o}, interrupted_{std::move(interrupted)}, scene_{o}, chosen_{faults_named(o.only)} {}

unsigned conductor::any(unsigned below) {
    return std::uniform_int_distribution<unsigned>{0, below - 1}(scene_.random);
}

conductor::blow conductor::aim(const fault& f, stage& at) {
    const auto range = static_cast<unsigned>((f.longest - f.shortest).count());
    const auto worker = any(static_cast<unsigned>(scene_.workers.size()));
    return {&f,
            {.all = scene_,
             .at = at,
             .worker = worker,
             .everyone = f.where == layer::server || any(3) == 0,
             .length = f.shortest + std::chrono::milliseconds{any(range + 1)}}};
}

/// Each fault on each server, or on a few processes, comes before any comes again. It may be joined
/// by another one, of another layer.
std::vector<conductor::blow> conductor::next() {
    if (deck_.empty()) {
        for (const fault* f : chosen_) {
            const int times = f->where == layer::process ? 2 : 1;
            for (int i = 0; i < times; ++i) {
                deck_.emplace_back(f, &scene_.durable);
                deck_.emplace_back(f, &scene_.forgetful);
            }
        }
        std::shuffle(deck_.begin(), deck_.end(), scene_.random);
    }
    const auto [first, at] = deck_.back();
    deck_.pop_back();
    std::vector<blow> out{aim(*first, *at)};
    const auto other = std::find_if(deck_.begin(), deck_.end(), [f = first](const auto& card) {
        return card.first->where != f->where;
    });
    if (other != deck_.end() && any(2) == 0) {
        out.push_back(aim(*other->first, *other->second));
        deck_.erase(other);
    }
    return out;
}

report::row& conductor::row_of(const blow& b) {
    std::string name{b.what->name};
    if (b.what->where != layer::process) {
        name += ", " + b.where.at.name();
    }
    report::row& r = report_.faults[name];
    r.loses_data = loses_data(*b.what, b.where.at);
    return r;
}

asio::awaitable<bool> conductor::everyone_served() {
    const testimony before = scene_.bench.heard();
    const std::size_t workers = std::size_t{options_.processes} * options_.coroutines;
    const auto all_later = [&] {
        const testimony now = scene_.bench.heard();
        const auto later = [&](const auto& worker) {
            const auto then = before.served.find(worker.first);
            return then == before.served.end() || worker.second > then->second;
        };
        return now.served.size() == workers &&
               std::all_of(now.served.begin(), now.served.end(), later);
    };
    co_return co_await test::when(all_later, recovery_limit);
}

asio::awaitable<void> conductor::inject() {
    bool served = co_await everyone_served();
    if (!served) {
        found("a worker was not served before any fault");
    }
    const time_point end = clock::now() + std::chrono::duration_cast<duration>(
                                              std::chrono::duration<double>(options_.seconds));
    while (served && clock::now() < end && !interrupted_()) {
        std::vector<blow> blows = next();
        std::chrono::milliseconds longest{};
        for (blow& b : blows) {
            b.what->strike(b.where);
            ++row_of(b).injected;
            longest = std::max(longest, b.where.length);
        }
        co_await test::pass(longest);
        for (auto b = blows.rbegin(); b != blows.rend(); ++b) {
            b->what->heal(b->where);
        }
        const time_point healed = clock::now();
        served = co_await everyone_served();
        const auto took = std::chrono::ceil<std::chrono::milliseconds>(clock::now() - healed);
        for (const blow& b : blows) {
            report::row& r = row_of(b);
            r.survived += served ? 1 : 0;
            r.longest_recovery = std::max(r.longest_recovery, took);
            if (!served) {
                found("a worker was not served within 20 s after " + std::string{b.what->name});
            }
        }
        co_await test::pass(std::chrono::milliseconds{any(200)});
    }
}

asio::awaitable<void> conductor::clean_up() {
    scene_.finish();
    for (stage* s : {&scene_.durable, &scene_.forgetful}) {
        // Keys of a killed client live for a lease.
        const auto clean = [s] { return s->leftovers().empty(); };
        const bool empty = co_await test::when(clean);
        if (!empty) {
            found("left on the " + s->name() + " server: " + s->leftovers().front());
        }
        if (!s->raw.connections(client_name).empty()) {
            found("a connection is left on the " + s->name() + " server");
        }
    }
}

report conductor::conduct() {
    asio::io_context io;
    const time_point start = clock::now();
    const auto whole = std::chrono::milliseconds{static_cast<std::int64_t>(options_.seconds * 1e3)};
    test::run_test(io, inject(), whole + 2min);
    report_.seconds = std::chrono::duration<double>(clock::now() - start).count();
    try {
        test::run_test(io, clean_up(), 5min);
    } catch (const std::exception& e) {
        found(e.what());
    }
    report_.seed = options_.seed;
    report_.processes = options_.processes;
    report_.coroutines = options_.coroutines;
    report_.heard = scene_.bench.heard();
    auto& all = report_.heard.findings;
    for (const auto* more : {&findings_, &scene_.findings}) {
        all.insert(all.end(), more->begin(), more->end());
    }
    return report_;
}

}  // namespace conch::soak
