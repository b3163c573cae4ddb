// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_plan.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <string>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr duration one_year = std::chrono::hours{24 * 365};

/// After the lease and --max-hold.
void read_grace(const po::variables_map& values, lock_plan& plan) {
    const lock_options& lock = plan.lock;
    const auto wanted = seconds_option(values, "grace", 0ns, *lock.lease / 2);
    if (wanted && *wanted >= lock.max_hold) {
        throw usage_error("--grace, " + short_time(*wanted) +
                          ", must be shorter than --max-hold, " + short_time(lock.max_hold));
    }
    plan.grace = wanted.value_or(plan.longest_lease() / 6);
}

void read_terms(const po::variables_map& values, lock_plan& plan) {
    lock_options& lock = plan.lock;
    lock.wait = seconds_option(values, "wait", 0ns, longest_wait);
    if (values.count("nonblock") != 0) {
        if (lock.wait) {
            throw usage_error("--nonblock and --wait exclude each other");
        }
        lock.wait = 0ns;
    }
    lock.lease = seconds_option(values, "lease", 100ms, one_year).value_or(30s);
    lock.max_hold = seconds_option(values, "max-hold", 10ms, one_year).value_or(forever);
    read_grace(values, plan);
    plan.kind.fenced = values.count("fenced") != 0;
    const bool shared =
        plan.server.kind == lock_kind::reader || plan.server.kind == lock_kind::writer;
    if (plan.kind.fenced && shared) {
        throw usage_error("--fenced: a read-write lock (--rw, --shared) has no fencing token");
    }
    if (plan.kind.fenced && plan.server.kind == lock_kind::semaphore) {
        throw usage_error("--fenced: a semaphore (--at-most, --semaphore) has no fencing token");
    }
    if (values.count("at-most") != 0) {
        plan.at_most = parse_count("--at-most", text_option(values, "at-most"), 1'000'000'000);
    }
    const bool exclusive = values.count("exclusive") != 0 || values.count("exclusively") != 0;
    if (exclusive && plan.server.kind == lock_kind::reader) {
        throw usage_error("--exclusive and --shared exclude each other");
    }
    if (plan.kind.fenced && !plan.server.others.empty()) {
        throw usage_error(
            "--fenced goes with one --redis only: tokens of several servers have no "
            "common order");
    }
}

/// NAME, and those of -l.
void read_names(const po::variables_map& values, lock_plan& plan) {
    plan.names = {plan.name};
    if (values.count("lock") == 0) {
        return;
    }
    for (const std::string& name : values["lock"].as<word_list>()) {
        check_name("lock", name);
        if (std::ranges::find(plan.names, name) != plan.names.end()) {
            throw usage_error("--lock: the lock " + in_quotes(name) + " is there twice");
        }
        plan.names.push_back(name);
    }
    if (plan.names.size() > multi_lock::max_locks) {
        throw usage_error("--lock: there are more than " + std::to_string(multi_lock::max_locks) +
                          " locks");
    }
    if (plan.server.kind == lock_kind::semaphore) {
        throw usage_error("--lock and a semaphore (--at-most, --semaphore) exclude each other");
    }
    if (plan.kind.fenced) {
        throw usage_error("--lock and --fenced exclude each other: each lock has its own tokens");
    }
    if (!plan.server.others.empty()) {
        throw usage_error("--lock goes with one --redis only");
    }
    plan.name = boost::algorithm::join(plan.names, ", ");
}

}  // namespace

void add_lock_plan_options(po::options_description& options, const char* fence) {
    const auto seconds = [] { return po::value<std::string>()->value_name("SECS"); };
    auto add = options.add_options();
    add("nonblock,nb,n", "do not wait if the lock is held");
    add("wait,timeout,w", seconds(),
        "wait for so long at most, also for a server that has gone away (default: as long as it "
        "takes)");
    add("lease", seconds(), "the lease, renewed every third of it (default: 30)");
    add("max-hold", seconds(), "hold the lock for so long at most (default: no limit)");
    add("grace", seconds(),
        "from SIGTERM to the end of the lease (default: a sixth of the lease or of --max-hold, "
        "whichever is shorter; at most half of the lease)");
    add("fenced", fence);
    add("lock,l", po::value<word_list>()->value_name("NAME"),
        "take the lock NAME too: all of them, or none (may be repeated)");
    add("at-most", po::value<std::string>()->value_name("N"),
        "N at once at most, anywhere: the lock is a semaphore of N permits, which are set if they "
        "were not");
    add("shared,s", "take the read-write lock NAME for reading, beside other readers");
}

void read_lock_plan(const po::variables_map& values, lock_plan& plan) {
    read_terms(values, plan);
    read_names(values, plan);
    plan.server.be_patient(plan.lock.wait.value_or(longest_wait));
}

}  // namespace conch::cli
