// SPDX-License-Identifier: BSL-1.0
#include "sim/last_words.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>

// Only where a sanitizer is linked.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace conch::sim {
namespace {

// Written before a seed is played, so that a handler has nothing left to do but write(2).
char words[1024];
std::atomic<std::size_t> size{0};

void say() noexcept {
    const std::size_t n = size.exchange(0);  // an abort may follow a sanitizer's own report
    if (n > 0) {
        static_cast<void>(!::write(STDERR_FILENO, words, n));
    }
}

// The handler is gone by now (SA_RESETHAND): the signal ends the process as it would have.
extern "C" void die_of(int signal_number) {
    say();
    ::raise(signal_number);
}

void handle(int signal_number) {
    struct sigaction what{};
    what.sa_handler = &die_of;
    what.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
    ::sigaction(signal_number, &what, nullptr);
}

}  // namespace

std::string replay_of(const std::string& program, std::uint64_t seed, deployment d,
                      const std::string& mutant) {
    return program + " --seed " + std::to_string(seed) + " --count 1 --trace" +
           (d == deployment::alone ? "" : " --server " + std::string{name_of(d)}) +
           (mutant.empty() ? "" : " --mutant " + mutant);
}

void leave_last_words() {
    handle(SIGABRT);
    handle(SIGALRM);
    if (&__sanitizer_set_death_callback != nullptr) {
        __sanitizer_set_death_callback(&say);
        return;  // it reports the other signals itself
    }
    // Of its own: the usual one may be what ran out.
    static char stack[std::size_t{64} * 1024];
    const stack_t own{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    ::sigaltstack(&own, nullptr);
    for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
        handle(s);
    }
}

void now_playing(std::uint64_t seed, const std::string& replay, unsigned patience_s) {
    size = 0;
    const int n = std::snprintf(words, sizeof words, "seed %llu ends the run\n  replay: %s\n",
                                static_cast<unsigned long long>(seed), replay.c_str());
    size = n > 0 ? std::min(static_cast<std::size_t>(n), sizeof words - 1) : 0;
    ::alarm(patience_s);
}

}  // namespace conch::sim
