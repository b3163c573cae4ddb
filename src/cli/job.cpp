// SPDX-License-Identifier: BSL-1.0
#include "cli/job.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace conch::cli {

launched job::start(child_plan plan, const guardian::terms& lease, bool adopts) {
    if (adopts) {
        adopt();
    }
    stop_signal_ = 0;
    const bool lend = terminal_.ours() && !in_pipeline();
    plan.terminal = lend ? terminal_.descriptor() : -1;
    guardian_.start(lease);
    plan.announce = guardian_.group();
    const launched result = launch(plan);
    if (result.pid < 0) {
        terminal_.take_back_from(0);
        guardian_.dismiss();
        return result;
    }
    pid_ = result.pid;
    running_ = true;
    wants_terminal_ = lend;
    return result;
}

// The leader may have left its group. Once it is reaped, its number is safe only while orphans of
// the group keep it.
void job::signal(int number) noexcept {
    if (!running_ && (!adopting_ || gone())) {
        return;
    }
    if (::kill(-pid_, number) != 0 && running_) {
        ::kill(pid_, number);
    }
}

job::change job::next() noexcept {
    int wait_status = 0;
    if (!running_ || ::waitpid(pid_, &wait_status, WNOHANG | WUNTRACED | WCONTINUED) != pid_) {
        return change::none;
    }
    if (WIFSTOPPED(wait_status)) {
        stop_signal_ = WSTOPSIG(wait_status);
        wants_terminal_ = wants_terminal_ || stop_signal_ == SIGTTIN || stop_signal_ == SIGTTOU;
        return change::stopped;
    }
    if (WIFCONTINUED(wait_status)) {
        stop_signal_ = 0;
        return change::continued;
    }
    running_ = false;
    status_ = shell_status(wait_status);
    interrupted_ = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT &&
                   terminal_.foreground() == pid_;
    terminal_.take_back_from(pid_);
    return change::ended;
}

void job::reap_orphans() noexcept {
    if (::getpid() != 1 && !adopting_) {
        return;
    }
    siginfo_t ended{};
    while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0) {
        if (running_ && ended.si_pid == pid_) {
            return;  // next() tells of it, and SIGCHLD of that
        }
        if (ended.si_pid == guardian_.pid()) {
            guardian_.dismiss();
        } else {
            ::waitpid(ended.si_pid, nullptr, WNOHANG);
        }
        ended.si_pid = 0;
    }
}

void job::lend_terminal() noexcept {
    if (running_ && wants_terminal_ && terminal_.ours()) {
        terminal_.give_to(pid_);
    }
}

void job::take_terminal() noexcept { terminal_.take_back_from(pid_); }

void job::adopt() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    adopting_ = true;
}

void job::terminate() noexcept {
    adopt();
    guardian_.spare_term(true);
    signal(SIGTERM);
    signal(SIGCONT);
}

bool job::gone() noexcept {
    if (running_) {
        return false;
    }
    pid_t reaped = 0;
    do {
        reaped = ::waitpid(-pid_, nullptr, WNOHANG);
    } while (reaped > 0);
    return reaped < 0 && errno == ECHILD;
}

bool stop_self(int signal, bool whole_group) noexcept {
    sigset_t one;
    sigset_t former;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    ::kill(whole_group ? 0 : ::getpid(), signal);
    ::sigprocmask(SIG_UNBLOCK, &one, &former);
    ::sigprocmask(SIG_SETMASK, &former, nullptr);
    // A stop signal discards a pending SIGCONT, so this one came after it.
    sigset_t pending;
    ::sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

}  // namespace conch::cli
