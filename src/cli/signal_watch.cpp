// SPDX-License-Identifier: BSL-1.0
#include "cli/signal_watch.hpp"

#include "cli/command_error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace conch::cli {

std::vector<int> signals_without_faults() {
    std::vector<int> all;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        switch (number) {
            case SIGKILL:
            case SIGSTOP:
            case SIGABRT:
            case SIGBUS:
            case SIGFPE:
            case SIGILL:
            case SIGSEGV:
            case SIGSYS:
            case SIGTRAP: break;
            default:
                if (number < 32 || number >= SIGRTMIN) {  // between them are those of the C library
                    all.push_back(number);
                }
        }
    }
    return all;
}

bool is_own_limit(const signalfd_siginfo& signal) noexcept {
    const auto number = static_cast<int>(signal.ssi_signo);
    return (number == SIGXCPU || number == SIGXFSZ) &&
           (signal.ssi_code == SI_KERNEL || static_cast<pid_t>(signal.ssi_pid) == ::getpid());
}

signal_watch::signal_watch(const std::vector<int>& signals) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : signals) {
        struct sigaction now{};
        ::sigaction(signal, nullptr, &now);
        const bool ignored = now.sa_handler == SIG_IGN;
        if (ignored && signal == SIGCHLD) {
            // Ignored, the kernel would reap our children itself and their status would be gone.
            std::signal(SIGCHLD, SIG_DFL);
            ignored_children_ = true;
        }
        if (!ignored || signal == SIGCHLD) {
            sigaddset(&wanted, signal);
        }
    }
    ::sigprocmask(SIG_BLOCK, &wanted, &former_mask_);
    fd_ = ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0) {
        throw os_failure("cannot watch signals", errno);
    }
}

int signal_watch::duplicate() const {
    const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        throw os_failure("cannot watch signals", errno);
    }
    return fd;
}

signal_watch::~signal_watch() { ::close(fd_); }

std::optional<signalfd_siginfo> signal_watch::next() const {
    signalfd_siginfo signal{};
    if (::read(fd_, &signal, sizeof signal) != sizeof signal) {
        return std::nullopt;
    }
    return signal;
}

void end_by_interrupt(bool whole_group) noexcept {
    std::signal(SIGINT, SIG_DFL);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGINT);
    ::kill(whole_group ? 0 : ::getpid(), SIGINT);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

bool from_terminal(const signalfd_siginfo& signal) noexcept {
    const auto number = static_cast<int>(signal.ssi_signo);
    return (number == SIGINT || number == SIGQUIT) && signal.ssi_code == SI_KERNEL;
}

}  // namespace conch::cli
