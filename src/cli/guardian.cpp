// SPDX-License-Identifier: BSL-1.0
#include "cli/guardian.hpp"

#include "cli/caller.hpp"
#include "cli/command_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>

namespace conch::cli {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void no_guardian() { throw os_failure("cannot start a process", errno); }

// They become 0 and 1. The second may be -1.
void keep_only(int pipe, int process) noexcept {
    ::dup2(pipe, 0);
    const unsigned first = process >= 0 ? 2 : 1;
    if (process >= 0) {
        ::dup2(process, 1);
    }
    if (::close_range(first, ~0U, 0) != 0) {
        for (int fd = static_cast<int>(first); fd < static_cast<int>(::sysconf(_SC_OPEN_MAX));
             ++fd) {
            ::close(fd);
        }
    }
}

}  // namespace

void guardian::start(const terms& t) {
    void* const shared = orders_ != nullptr
                             ? orders_
                             : ::mmap(nullptr, sizeof(orders), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        no_guardian();
    }
    orders_ = new (shared) orders;
    lease_ends(t.lease_end);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        no_guardian();
    }
    pipe_ = ends[1];
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        stand_by(*orders_, ends[0], t);
    }
    const int error = errno;
    ::close(ends[0]);
    if (pid_ < 0) {
        errno = error;
        no_guardian();
    }
}

void guardian::lease_ends(time_point at) noexcept {
    orders_->lease_end = at.time_since_epoch().count();
}

void guardian::spare_term(bool spare) noexcept { orders_->spares_term = spare; }

void guardian::dismiss() noexcept {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
    }
    if (pipe_ >= 0) {
        ::close(pipe_);
        pipe_ = -1;
    }
}

guardian::~guardian() {
    dismiss();
    if (orders_ != nullptr) {
        ::munmap(orders_, sizeof(orders));
    }
}

// After fork(): async-signal-safe calls alone.
void guardian::stand_by(orders& from, int pipe, const terms& t) noexcept {
    const duration term = t.grace / 2;
    const duration kill = t.time_to_die / 2;
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_NAME, "conch-guardian");
    keep_only(pipe, t.process);
    const int process = t.process >= 0 ? 1 : -1;
    const auto send = [&](int signal) {
        const pid_t group = from.group;
        if (process >= 0 && process_has_ended(process)) {
            return;  // somebody else may have its numbers
        }
        if (group > 0) {
            from.acted = true;
            ::kill(-group, signal);
        } else if (process >= 0 && signal != SIGKILL) {
            from.acted = true;
            from.spares_term = true;
            signal_process(process, signal);
        }
    };
    const auto finish = [&] {
        if (from.group <= 0 && !from.spares_term) {
            send(SIGTERM);
            send(SIGCONT);
        }
        send(SIGKILL);
        ::_exit(0);
    };
    time_point told = time_point::min();  // of which end the group got SIGTERM
    for (;;) {
        const time_point end{duration{from.lease_end}};
        const time_point now = clock::now();
        if (now >= end - kill) {
            finish();
        }
        if (now >= end - term && told != end && !from.spares_term) {
            told = end;
            send(SIGTERM);
            send(SIGCONT);
        }
        // The clock counts suspend, unlike that of poll().
        const time_point next = told == end || now >= end - term ? end - kill : end - term;
        const auto nap = std::chrono::ceil<std::chrono::milliseconds>(
            std::min<duration>(next - now, 1s));
        pollfd gone{0, POLLIN, 0};
        if (::poll(&gone, 1, static_cast<int>(nap.count())) > 0) {
            finish();
        }
    }
}

}  // namespace conch::cli
