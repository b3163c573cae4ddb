// SPDX-License-Identifier: BSL-1.0
#include "cli/guardian.hpp"

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

void keep_only(int descriptor) noexcept {
    ::dup2(descriptor, 0);
    if (::close_range(1, ~0U, 0) != 0) {
        for (int fd = 1; fd < static_cast<int>(::sysconf(_SC_OPEN_MAX)); ++fd) {
            ::close(fd);
        }
    }
}

}  // namespace

void guardian::start(const terms& t) {
    void* const shared = ::mmap(nullptr, sizeof(orders), PROT_READ | PROT_WRITE,
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
    keep_only(pipe);
    const auto send = [&](int signal) {
        if (const pid_t group = from.group; group > 0) {
            from.acted = true;
            ::kill(-group, signal);
        }
    };
    time_point told = time_point::min();  // of which end the group got SIGTERM
    for (;;) {
        const time_point end{duration{from.lease_end}};
        const time_point now = clock::now();
        if (now >= end - kill) {
            send(SIGKILL);
            ::_exit(0);
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
            send(SIGKILL);
            ::_exit(0);
        }
    }
}

}  // namespace conch::cli
