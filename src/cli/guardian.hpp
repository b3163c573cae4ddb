// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_GUARDIAN_HPP
#define CONCH_SRC_CLI_GUARDIAN_HPP

#include <conch/clock.hpp>

#include <sys/types.h>

#include <atomic>

namespace conch::cli {

/// A small process that ends the command's process group where `conch run` can't: when the lease
/// ends while `conch run` is stopped (SIGSTOP, a debugger, a frozen cgroup), and as soon as it is
/// no more (SIGKILL, want of memory). It has a session of its own, so that no terminal reaches it,
/// and no descriptor but the pipe that tells it of the end of `conch run`.
///
/// For `conch hold` it ends the group of the process that the lock is held for, or sends SIGTERM to
/// that process alone.
class guardian {
public:
    guardian() = default;
    ~guardian();
    guardian(const guardian&) = delete;
    guardian& operator=(const guardian&) = delete;

    struct terms {
        time_point lease_end;   ///< as known by now
        duration grace;         ///< so long before, `conch run` would send SIGTERM
        duration time_to_die;   ///< the same of SIGKILL
        /// A descriptor of a process (pidfd_open(2)), above 2; -1: none. While there is no group,
        /// this process gets SIGTERM, and no SIGKILL. Once it has ended, nobody gets a signal.
        int process = -1;
    };
    /// Starts it, without a group to end; again, once it was dismissed. It sends each signal when
    /// half of that time is left.
    /// Throws `command_error` if there can be no process.
    void start(const terms& t);
    /// Where the command writes its number, which is that of the group to end, before it executes:
    /// the guardian may be needed sooner than `conch run` goes on. (In a PID namespace of theirs,
    /// the two know another number than `conch run`.)
    std::atomic<pid_t>* group() noexcept { return &orders_->group; }
    /// When the lease ends, as known by now.
    void lease_ends(time_point at) noexcept;
    /// It has sent a signal.
    bool has_acted() const noexcept { return orders_ != nullptr && orders_->acted; }
    /// -1: there is none.
    pid_t pid() const noexcept { return pid_; }
    /// Whether the group needs no SIGTERM from it: it has got one, or stands still. SIGKILL stays.
    void spare_term(bool spare) noexcept;
    /// Ends it; the group may go on. It may have ended before.
    void dismiss() noexcept;

private:
    struct orders {
        std::atomic<pid_t> group = 0;
        std::atomic<bool> spares_term = false;
        std::atomic<bool> acted = false;
        std::atomic<duration::rep> lease_end;
    };

    [[noreturn]] static void stand_by(orders& from, int pipe, const terms& t) noexcept;

    orders* orders_ = nullptr;  // shared with it
    int pipe_ = -1;             // closed when this process ends
    pid_t pid_ = -1;
};

}  // namespace conch::cli

#endif
