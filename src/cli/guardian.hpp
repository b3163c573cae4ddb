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
class guardian {
public:
    guardian() = default;
    ~guardian() { dismiss(); }
    guardian(const guardian&) = delete;
    guardian& operator=(const guardian&) = delete;

    /// Starts it, without a group to end. `grace`, `time_to_die`: so long before the lease's end
    /// `conch run` would send SIGTERM, and SIGKILL. The guardian sends each when half of that is
    /// left. Throws `command_error` if there can be no process.
    void start(duration grace, duration time_to_die);
    /// The group that it ends.
    void watch(pid_t group) noexcept;
    /// When the lease ends, as known by now.
    void lease_ends(time_point at) noexcept;
    /// It has sent a signal.
    bool has_acted() const noexcept { return orders_ != nullptr && orders_->acted; }
    /// -1: there is none.
    pid_t pid() const noexcept { return pid_; }
    /// The group has got its SIGTERM.
    void terminating() noexcept;
    /// Ends it; the group may go on.
    void dismiss() noexcept;

private:
    struct orders {
        std::atomic<pid_t> group = 0;
        std::atomic<bool> terminating = false;
        std::atomic<bool> acted = false;
        std::atomic<duration::rep> lease_end = duration::max().count();
    };
    struct times {
        duration term;  // before the lease's end
        duration kill;
    };

    [[noreturn]] static void stand_by(orders& from, int pipe, times when) noexcept;

    orders* orders_ = nullptr;  // shared with it
    int pipe_ = -1;             // closed when this process ends
    pid_t pid_ = -1;
};

}  // namespace conch::cli

#endif
