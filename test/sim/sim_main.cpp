// SPDX-License-Identifier: BSL-1.0
// conch_sim: many simulated lives of a few clients and a server, each determined by its seed.
#include "sim/check/determinism.hpp"
#include "sim/last_words.hpp"
#include "sim/simulation.hpp"
#ifdef CONCH_MUTANTS
#include "sim/mutants/choose.hpp"
#include "sim/mutants/run_mutants.hpp"
#endif

#include <boost/json.hpp>
#include <boost/program_options.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

namespace po = boost::program_options;
namespace sim = conch::sim;

namespace {

struct totals {
    std::uint64_t seeds = 0;
    std::uint64_t violations = 0;  // seeds with any
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::uint64_t losses = 0;
    std::uint64_t permits = 0;
    std::uint64_t closings = 0;
    sim::deadlock_counts deadlocks{};
    std::array<std::uint64_t, sim::fault_count> attempts{};
    std::array<std::uint64_t, sim::fault_count> faults{};  // that acted
    std::array<std::uint64_t, sim::fault_count> seeds_with{};
    std::optional<std::uint64_t> first_failing{};
    double seconds = 0;
};

/// A seed takes milliseconds, and with a sanitizer some hundred.
constexpr unsigned patience_s = 60;

/// A wrong word or number on the command line.
constexpr int bad_usage = 2;

void add(totals& t, const sim::outcome& o) {
    ++t.seeds;
    t.events += o.events;
    t.grants += o.grants;
    t.losses += o.losses;
    t.permits += o.permits;
    t.closings += o.closings;
    t.deadlocks.local += o.deadlocks.local;
    t.deadlocks.between += o.deadlocks.between;
    t.deadlocks.of_three += o.deadlocks.of_three;
    t.deadlocks.with_readers += o.deadlocks.with_readers;
    for (std::size_t i = 0; i < sim::fault_count; ++i) {
        t.attempts[i] += o.attempts[i];
        t.faults[i] += o.faults[i];
        t.seeds_with[i] += o.faults[i] != 0 ? 1 : 0;
    }
    if (!o.violations.empty()) {
        ++t.violations;
        t.first_failing = t.first_failing.value_or(o.seed);
    }
}

/// In so many seeds each kind of fault happens: one that doesn't is chosen no more.
constexpr std::uint64_t enough_for_each_fault = 2000;

bool a_fault_never_happened(const totals& t, sim::deployment d) {
    bool any = false;
    for (std::size_t i = 0; i < sim::fault_count && t.seeds >= enough_for_each_fault; ++i) {
        if (t.faults[i] == 0 && sim::happens_in(static_cast<sim::fault>(i), d)) {
            std::fprintf(stderr, "no seed had the fault %s\n",
                         std::string{sim::name_of(static_cast<sim::fault>(i))}.c_str());
            any = true;
        }
    }
    return any;
}

void print_json(const totals& t) {
    boost::json::object faults;
    std::size_t kinds = 0;
    for (std::size_t i = 0; i < sim::fault_count; ++i) {
        faults[sim::name_of(static_cast<sim::fault>(i))] = boost::json::object{
            {"times", t.faults[i]}, {"attempts", t.attempts[i]}, {"seeds", t.seeds_with[i]}};
        kinds += t.faults[i] != 0 ? 1 : 0;
    }
    boost::json::object all{
        {"seeds", t.seeds},
        {"seeds_per_s", t.seconds > 0 ? static_cast<double>(t.seeds) / t.seconds : 0.0},
        {"violations", t.violations},
        {"events", t.events},
        {"grants", t.grants},
        {"losses_told", t.losses},
        {"permits", t.permits},
        {"closings", t.closings},
        {"deadlocks_local", t.deadlocks.local},
        {"deadlocks_between", t.deadlocks.between},
        {"deadlocks_of_three", t.deadlocks.of_three},
        {"deadlocks_with_readers", t.deadlocks.with_readers},
        {"fault_kinds", sim::fault_count},
        {"fault_kinds_seen", kinds},
        {"faults", faults}};
    if (t.first_failing) {
        all["first_failing_seed"] = *t.first_failing;
    }
    std::cout << boost::json::serialize(all) << "\n";
}

void print_deadlocks(const sim::deadlock_counts& d) {
    if (d.local + d.between != 0) {
        std::printf(
            "deadlocks told: %llu at once, %llu between clients; %llu of three or more, %llu with "
            "readers\n",
            static_cast<unsigned long long>(d.local), static_cast<unsigned long long>(d.between),
            static_cast<unsigned long long>(d.of_three),
            static_cast<unsigned long long>(d.with_readers));
    }
}

void print_text(const totals& t) {
    std::printf(
        "%llu seeds in %.1f s (%.0f/s), %llu events, %llu grants, %llu losses told, "
        "%llu requests for permits granted, %llu clients closed\n",
        static_cast<unsigned long long>(t.seeds), t.seconds,
        t.seconds > 0 ? static_cast<double>(t.seeds) / t.seconds : 0.0,
        static_cast<unsigned long long>(t.events), static_cast<unsigned long long>(t.grants),
        static_cast<unsigned long long>(t.losses), static_cast<unsigned long long>(t.permits),
        static_cast<unsigned long long>(t.closings));
    print_deadlocks(t.deadlocks);
    for (std::size_t i = 0; i < sim::fault_count; ++i) {
        std::printf("  %-14s %10llu of %10llu in %llu seeds\n",
                    std::string{sim::name_of(static_cast<sim::fault>(i))}.c_str(),
                    static_cast<unsigned long long>(t.faults[i]),
                    static_cast<unsigned long long>(t.attempts[i]),
                    static_cast<unsigned long long>(t.seeds_with[i]));
    }
    std::printf("%llu seeds with violations\n", static_cast<unsigned long long>(t.violations));
}

void print_violations(const sim::outcome& o, const std::string& replay) {
    for (const std::string& v : o.violations) {
        std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(o.seed), v.c_str());
    }
    if (!o.violations.empty()) {
        std::fprintf(stderr, "  replay: %s\n", replay.c_str());
    }
}

int run(const char* program, sim::deployment server, const po::variables_map& options) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
    const std::uint64_t first = options["seed"].as<std::uint64_t>();
    const bool trace = options.count("trace") != 0;
    const double minutes = options.count("minutes") ? options["minutes"].as<double>() : 0;
    const std::uint64_t count = options["count"].as<std::uint64_t>();
    const std::string mutant =
        options.count("mutant") != 0 ? options["mutant"].as<std::string>() : "";
    totals t;
    sim::leave_last_words();
    for (std::uint64_t i = 0; minutes > 0 ? passed() < 60 * minutes : i < count; ++i) {
        const std::string replay = sim::replay_of(program, first + i, server, mutant);
        sim::now_playing(first + i, replay, trace ? 0 : patience_s);  // a trace has a reader
        sim::play(first + i, server, trace, [&](const sim::outcome& o) {
            add(t, o);
            print_violations(o, replay);
        });
        if (t.violations != 0 && options.count("keep-going") == 0) {
            break;
        }
    }
    t.seconds = passed();
    if (options.count("json") != 0) {
        print_json(t);
    } else {
        print_text(t);
    }
    return t.violations != 0 || a_fault_never_happened(t, server) ? 1 : 0;
}

}  // namespace

int main(int argc, char* argv[]) {
    po::options_description known{"usage: conch_sim [options]"};
    known.add_options()("help", "this text")("seed", po::value<std::uint64_t>()->default_value(1),
                                             "the first seed")(
        "count", po::value<std::uint64_t>()->default_value(1000), "how many seeds")(
        "minutes", po::value<double>(), "as many seeds as there is time for, instead")(
        "server", po::value<std::string>()->default_value("alone"),
        "how it is run: alone, sentinel (a replica, and sentinels), cluster; or which locks: "
        "read-write, fair, majority (of several servers), counters, permits, deadlocks")(
        "trace", "print what happens")("keep-going", "don't end at the first violation")(
        "json", "the result as JSON");
#ifdef CONCH_MUTANTS
    known.add_options()("mutant", po::value<std::string>(), "with this rule broken")(
        "mutants", "each mutant in turn: how many seeds until one fails")(
        "part", po::value<std::string>()->default_value("1/1"),
        "I/N: of the mutants, only the Ith of N parts");
#endif
    try {
        po::variables_map options;
        // No word stands for itself.
        const po::positional_options_description none;
        po::store(po::command_line_parser{argc, argv}.options(known).positional(none).run(),
                  options);
        po::notify(options);
        if (options.count("help") != 0) {
            std::cout << known;
            return 0;
        }
#ifdef CONCH_MUTANTS
        if (options.count("mutants") != 0) {
            const auto part = sim::part_named(options["part"].as<std::string>());
            if (!part) {
                std::cerr << "conch_sim: a part is named like 1/2\n";
                return bad_usage;
            }
            return sim::run_mutants(options["seed"].as<std::uint64_t>(),
                                    options["count"].as<std::uint64_t>(), *part);
        }
        if (options.count("mutant") != 0 &&
            !sim::choose_mutant(options["mutant"].as<std::string>())) {
            std::cerr << "conch_sim: no such mutant, or it is lost\n";
            return bad_usage;
        }
#endif
        const auto server = sim::deployment_named(options["server"].as<std::string>());
        if (!server) {
            std::cerr << "conch_sim: the server is alone, sentinel, cluster, read-write, fair, "
                         "majority, counters, permits or deadlocks\n";
            return bad_usage;
        }
        return run(argv[0], *server, options);
    } catch (const po::error& e) {
        std::cerr << "conch_sim: " << e.what() << "\n";
        return bad_usage;
    }
}
