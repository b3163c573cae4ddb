// SPDX-License-Identifier: BSL-1.0
#include "commands.hpp"
#include "direct_access.hpp"
#include "pair_loop.hpp"
#include "raw_baseline.hpp"
#include "rounds.hpp"
#include "statistics.hpp"
#include "support/program.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace conch::bench {
namespace {

/// What callgrind calls them: it dumps its counts before and after each of these functions.
constexpr const char* own_function = "conch_bench_own_slice";
constexpr const char* raw_function = "conch_bench_raw_slice";

std::string path_of_program(const std::string& name) {
    const char* const set = std::getenv("PATH");
    std::istringstream folders{set != nullptr ? set : ""};
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string path = folder + '/' + name;
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return {};
}

/// The instructions of each slice, in their order.
struct counts {
    std::vector<double> ours{}, theirs{};
};

/// Of one dump: "desc: Trigger: --dump-after=FUNCTION" and "totals: COUNT" are among its lines.
void read_dump(const std::string& path, counts& out) {
    std::ifstream in{path};
    std::string trigger;
    double total = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("desc: Trigger: ")) {
            trigger = line;
        } else if (line.starts_with("totals: ")) {
            total = std::stod(line.substr(8));
        }
    }
    const auto is_after = [&](const char* function) {
        return trigger.ends_with(std::string{"--dump-after="} + function);
    };
    if (is_after(own_function)) {
        out.ours.push_back(total);
    } else if (is_after(raw_function)) {
        out.theirs.push_back(total);
    }
}

/// callgrind numbers its dumps from 1.
counts read_dumps(const std::string& prefix) {
    counts out;
    for (std::size_t i = 1; std::filesystem::exists(prefix + '.' + std::to_string(i)); ++i) {
        read_dump(prefix + '.' + std::to_string(i), out);
    }
    return out;
}

std::vector<double> numbers(const boost::json::object& o, const char* name) {
    return boost::json::value_to<std::vector<double>>(o.at(name));
}

std::string own_path() {
    std::error_code ec;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", ec);
    if (ec) {
        throw std::runtime_error{"cannot find this program: " + ec.message()};
    }
    return path;
}

void measure(const std::string& valgrind, const arguments& how, const std::string& url, report& r) {
    const std::string before = "--dump-before=", after = "--dump-after=";
    const test::temporary_folder folder;
    const std::string prefix = folder.path() + "/dump";
    const auto text = [&](const char* name) { return std::to_string(how.count(name)); };
    test::program inside{{valgrind,
                          "--tool=callgrind",
                          "--quiet",
                          "--log-file=/dev/null",
                          "--callgrind-out-file=" + prefix,
                          before + own_function,
                          after + own_function,
                          before + raw_function,
                          after + raw_function,
                          own_path(),
                          slices_command().name,
                          "--redis",
                          url,
                          "--coroutines",
                          text("coroutines"),
                          "--pairs",
                          text("pairs"),
                          "--rounds",
                          text("rounds"),
                          "--metrics",
                          text("metrics"),
                          "--json"}};
    const test::ended& end = inside.finish(std::chrono::hours{1});
    throw_if_interrupted();
    if (end.status != 0) {
        throw std::runtime_error{"valgrind failed: " + end.err};
    }
    const boost::json::object slices = boost::json::parse(end.out).as_object();
    const counts c = read_dumps(prefix);
    const std::vector<double> pairs = numbers(slices, "pairs");
    const std::vector<double> raw_pairs = numbers(slices, "raw_pairs");
    if (c.ours.size() != pairs.size() || c.theirs.size() != raw_pairs.size()) {
        throw std::runtime_error{"callgrind did not count each slice"};
    }
    const std::vector<double> ours = ratios(c.ours, pairs);
    const std::vector<double> theirs = ratios(c.theirs, raw_pairs);
    const auto [least, most] = std::minmax_element(ours.begin(), ours.end());
    r.add("instructions_per_pair", median(ours), "", 0);
    r.add("instructions_per_pair_min", *least, "", 0);
    r.add("instructions_per_pair_max", *most, "", 0);
    r.add("raw_instructions_per_pair", median(theirs), "", 0);
    r.add("ratio", median(ours) / median(theirs), "", 2);
    r.add("allocations_per_pair", median(numbers(slices, "allocations")), "", 3);
}

report run(const server_choice& where, const arguments& how) {
    const std::string valgrind = path_of_program("valgrind");
    report r;
    r.add_count("coroutines", how.count("coroutines"));
    r.add_count("metrics", how.count("metrics"));
    if (valgrind.empty()) {
        r.add_text("why_not", "valgrind is not installed");
        for (const char* name :
             {"instructions_per_pair", "instructions_per_pair_min", "instructions_per_pair_max",
              "raw_instructions_per_pair", "ratio", "allocations_per_pair"}) {
            r.add_unknown(name);
        }
        return r;
    }
    if (where.url) {
        measure(valgrind, how, *where.url, r);
    } else {
        const cli::private_redis own;
        measure(valgrind, how, own.url(), r);
    }
    return r;
}

const std::vector<parameter> parameters{
    {"coroutines", "under way at any time, on both sides", 1, 1, 10'000},
    {"pairs", "in one slice of one side, or a few more", 2'000, 1, 1'000'000},
    {"rounds", "slices of each side; one more goes first and doesn't count", least_rounds,
     least_rounds, 10'001},
    {"metrics", "1: conch::metrics counts, 2: by classes", 0, 0, 2}};

}  // namespace

sub_command instructions_command() {
    return {
        "instructions", "instructions of the client for a pair, under callgrind",
        "As uncontended, but this program runs under valgrind's callgrind, which counts the\n"
        "instructions of each slice in user mode. At one coroutine the figure hardly depends on\n"
        "the machine; at more it depends on how many answers come at once. Where valgrind is\n"
        "not installed, the figures are null.\n"
        "\n"
        "instructions_per_pair       median of the rounds; _min and _max of them\n"
        "raw_instructions_per_pair   of the limit: the commands encoded beforehand, and a\n"
        "                            blocking socket\n"
        "ratio                       of the two\n"
        "allocations_per_pair        calls of malloc (and its aligned forms): of conch, and of "
        "Asio\n"
        "                            for its handlers\n",
        parameters, &run};
}

}  // namespace conch::bench

extern "C" {

[[gnu::noinline]] void conch_bench_own_slice(conch::bench::pair_loop& side,
                                             const conch::bench::slice_length& length,
                                             conch::bench::slice& result) {
    result = side.run(length);
}

[[gnu::noinline]] void conch_bench_raw_slice(conch::bench::raw_baseline& side,
                                             const conch::bench::slice_length& length,
                                             conch::bench::slice& result) {
    result = side.run(length);
}
}

namespace conch::bench {
namespace {

report run_slices(const server_choice& where, const arguments& how) {
    const server redis{where};
    const slice_length length{.pairs = how.count("pairs")};
    config settings = redis.settings();
    if (const std::size_t kind = how.count("metrics"); kind != 0) {
        metrics_options options;
        if (kind == 2) {
            options.class_of = [](std::string_view name) { return name.substr(0, name.find(':')); };
        }
        settings.observer = std::make_shared<conch::metrics>(options);
    }
    pair_loop own{settings, how.count("coroutines")};
    const direct_access to = find_direct_access(redis.settings());
    raw_baseline raw{to.home, how.count("coroutines"), lock_commands(to.sharded)};
    own.run(length);
    raw.run(length);

    std::vector<double> pairs, raw_pairs, allocations;
    slice s;
    take_turns(
        how.count("rounds"),
        [&] {
            conch_bench_own_slice(own, length, s);
            pairs.push_back(static_cast<double>(s.latencies_us.size()));
            allocations.push_back(s.allocations);
        },
        [&] {
            conch_bench_raw_slice(raw, length, s);
            raw_pairs.push_back(static_cast<double>(s.latencies_us.size()));
        });
    report r;
    r.add_series("pairs", pairs);
    r.add_series("raw_pairs", raw_pairs);
    r.add_series("allocations", allocations);
    return r;
}

}  // namespace

sub_command slices_command() {
    return {"slices", "what instructions runs under callgrind", "Made for instructions.\n",
            parameters, &run_slices};
}

}  // namespace conch::bench
