// SPDX-License-Identifier: BSL-1.0
#include "interruption.hpp"

#include <csignal>
#include <stdexcept>

namespace conch::bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) { interrupted = 1; }

void set_handler(void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        ::sigaction(signal, &action, nullptr);  // without SA_RESTART
    }
}

}  // namespace

void watch_for_interruption() { set_handler(&note); }

void forget_interruption() { set_handler(SIG_DFL); }

void throw_if_interrupted() {
    if (interrupted != 0) {
        throw std::runtime_error{"interrupted"};
    }
}

}  // namespace conch::bench
