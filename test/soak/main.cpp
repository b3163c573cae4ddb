// SPDX-License-Identifier: BSL-1.0
#include "soak/conductor.hpp"
#include "soak/worker.hpp"

#include <signal.h>

#include <csignal>
#include <exception>
#include <iostream>

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// An early end is an orderly one: the servers' folders go, and the report is printed.
void end_on_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        ::sigaction(number, &action, nullptr);
    }
}

int run(const conch::soak::options& o) {
    using namespace conch::soak;
    if (o.help) {
        std::cout << o.help_text;
        return 0;
    }
    if (o.list) {
        for (const fault& f : all_faults()) {
            std::cout << f.name << '\n';
        }
        return 0;
    }
    if (o.worker != 0) {
        return work(o);
    }
    end_on_signals();
    std::cerr << "seed " << o.seed << '\n';
    conductor c{o, [] { return interrupted != 0; }};
    const report r = c.conduct();
    std::cout << (o.json ? r.json() : r.table());
    return r.passed() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    conch::soak::options o;
    try {
        o = conch::soak::read_options(argc, argv);
        conch::soak::faults_named(o.only);
    } catch (const std::exception& e) {
        std::cerr << "conch_soak: " << e.what() << " (see --help)\n";
        return 2;
    }
    try {
        return run(o);
    } catch (const std::exception& e) {
        std::cerr << "conch_soak: " << e.what() << '\n';
        return 1;
    }
}
