// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/demo_board.hpp"
#include "cli/demo_report.hpp"
#include "cli/demo_workers.hpp"
#include "cli/private_redis.hpp"
#include "cli/server_url.hpp"
#include "cli/signal_watch.hpp"
#include "cli/text.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr duration start_limit = 20s;  ///< for every worker to have reached the server
constexpr duration end_limit = 12s;    ///< for the workers to end by themselves

struct demo_plan {
    std::uint32_t processes;
    std::uint32_t coroutines;
    duration time;
    std::string server_url;  ///< empty: a private server
};

/// The parent: starts the workers, tells them to go and to stop, and watches.
class director {
public:
    director(const demo_plan& plan, const shared_board& board, const signal_watch& signals)
        : plan_{plan}, board_{board}, signals_{signals}, workers_{board, signals.former_mask()} {}

    void go();
    /// Prints the table; the exit status.
    int report() const;

private:
    void tick();
    void show_progress();
    bool undisturbed() const noexcept { return signal_ == 0 && workers_.running() == started_; }

    const demo_plan& plan_;
    const shared_board& board_;
    const signal_watch& signals_;
    demo_workers workers_;
    const std::size_t started_ = workers_.running();
    const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
    time_point begin_{};
    duration elapsed_{};
    int signal_ = 0;          ///< the first that asked for the end
    bool impatient_ = false;  ///< there was a second one
};

void director::go() {
    const time_point ready_by = clock::now() + start_limit;
    while (undisturbed() && !workers_.all_ready() && clock::now() < ready_by) {
        tick();
    }
    begin_ = clock::now();
    if (workers_.all_ready()) {
        board_->go = true;
        while (undisturbed() && clock::now() < begin_ + plan_.time) {
            tick();
            show_progress();
        }
    }
    board_->stop = true;
    elapsed_ = clock::now() - begin_;
    const time_point ended_by = clock::now() + end_limit;
    while (workers_.running() != 0 && !impatient_ && clock::now() < ended_by) {
        tick();
    }
    workers_.kill();
    if (terminal_) {
        std::cerr << "\r\033[K";
    }
}

/// Waits for a signal, for a short while.
void director::tick() {
    pollfd readable{signals_.descriptor(), POLLIN, 0};
    ::poll(&readable, 1, 20);
    while (const auto signal = signals_.next()) {
        if (static_cast<int>(signal->ssi_signo) == SIGCHLD) {
            workers_.reap();
        } else {
            impatient_ = signal_ != 0;
            signal_ = impatient_ ? signal_ : static_cast<int>(signal->ssi_signo);
        }
    }
}

void director::show_progress() {
    if (terminal_) {
        const duration elapsed = std::min(clock::now() - begin_, plan_.time);
        std::cerr << '\r' << demo_progress(add_up(*board_), elapsed, plan_.time) << "\033[K"
                  << std::flush;
    }
}

int director::report() const {
    const demo_totals totals = add_up(*board_);
    const auto& failures = workers_.failures();
    if (totals.acquisitions == 0 && signal_ == 0 && !failures.empty()) {
        const worker_failure& first = failures.front();
        const bool told = first.exit_status < exit_code::by_signal;
        throw command_error(told ? first.exit_status : exit_code::failure, first.text);
    }
    std::cout << demo_table(totals, elapsed_) << '\n';
    if (signal_ == 0 || totals.broken() || !failures.empty()) {
        std::cout << demo_verdict(totals, failures);
        const bool passed = !totals.broken() && failures.empty() && totals.acquisitions != 0;
        return passed ? exit_code::ok : exit_code::failure;
    }
    std::cout << "ended early; no update was lost so far.\n";
    return exit_code::by_signal + signal_;
}

/// A name that no other run uses: with --redis, the server may be shared.
std::string fresh_name() {
    std::random_device random;
    char text[40];
    std::snprintf(text, sizeof text, "conch:demo:%08x%08x", random(), random());
    return text;
}

void prepare(demo_board& board, const demo_plan& plan, const std::string& url) {
    board.processes = plan.processes;
    board.coroutines = plan.coroutines;
    if (!board.server_url.set(url) || !board.lock_name.set(fresh_name())) {
        throw usage_error("--redis: the URL is too long");
    }
}

void start_private(std::optional<private_redis>& server) {
    try {
        server.emplace();
    } catch (const std::runtime_error& e) {
        throw command_error(exit_code::unavailable, e.what());
    }
}

po::options_description demo_options() {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("processes", po::value<std::string>()->value_name("N"),
        "worker processes, 1 to 256 (default: 4)");
    add("coroutines", po::value<std::string>()->value_name("N"),
        "coroutines of each process, 1 to 10000 (default: 50)");
    add("seconds", po::value<std::string>()->value_name("SECS"), "0.1 to 86400 (default: 5)");
    add("redis", po::value<std::string>()->value_name("URL"),
        "use this server (default: a private redis-server, for as long as the demo runs)");
    add("help,h", "show this");
    return options;
}

demo_plan read_plan(const po::variables_map& values) {
    demo_plan plan{4, 50, 5s, text_option(values, "redis")};
    if (values.count("NAME") != 0) {
        throw usage_error("unexpected word " + in_quotes(values["NAME"].as<std::string>()));
    }
    const auto given = [&values](const char* name) { return values.count(name) != 0; };
    if (given("processes")) {
        plan.processes =
            parse_count("--processes", text_option(values, "processes"), most_processes);
    }
    if (given("coroutines")) {
        plan.coroutines =
            parse_count("--coroutines", text_option(values, "coroutines"), most_coroutines);
    }
    if (given("seconds")) {
        plan.time = parse_seconds("--seconds", text_option(values, "seconds"), 100ms, 24h);
    }
    return plan;
}

}  // namespace

int demo(const word_list& words) {
    const po::options_description options = demo_options();
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout << "conch demo [OPTION...]: many coroutines in several processes add to one "
                     "counter,\nunprotected but for one lock; then the sum is checked.\n\n"
                  << options
                  << "\nExit status: 0 passed, 1 something was lost, 64 wrong command line, 69 no "
                     "Redis,\n128+N ended early by signal N.\n";
        return exit_code::ok;
    }
    const demo_plan plan = read_plan(values);
    // From here on, a signal is an orderly end: the private server's folder has to go.
    const signal_watch signals{{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD}};
    std::signal(SIGPIPE, SIG_IGN);

    std::optional<private_redis> server;
    std::string label = "a private redis-server";
    if (plan.server_url.empty()) {
        start_private(server);
    } else {
        label = "Redis at " + server_of(plan.server_url, "--redis").url();
    }
    const shared_board board;
    prepare(*board, plan, server ? server->url() : plan.server_url);
    std::cout << "conch demo: " << counted(plan.processes, "process", "es") << " of "
              << counted(plan.coroutines, "coroutine") << ", one lock, " << short_time(plan.time)
              << ", " << label << "\n\n"
              << std::flush;
    director d{plan, board, signals};
    d.go();
    return d.report();
}

}  // namespace conch::cli
