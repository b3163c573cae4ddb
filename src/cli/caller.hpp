// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_CALLER_HPP
#define CONCH_SRC_CLI_CALLER_HPP

#include <sys/types.h>

namespace conch::cli {

/// Whether the process of this descriptor (pidfd_open(2)) has ended. Async-signal-safe.
bool process_has_ended(int descriptor) noexcept;
/// As kill(2), but never reaches another process that got the same number since.
void signal_process(int descriptor, int number) noexcept;

/// The process that started this one: the shell of the script that called `conch hold`.
class caller {
public:
    /// `whole_group`: `signal()` reaches the process's group. Throws `command_error` if the
    /// process is gone already or can't be watched, or if the group can't be signalled.
    explicit caller(bool whole_group);
    ~caller();
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    pid_t pid() const noexcept { return pid_; }
    /// That `signal()` reaches; 0: the process alone.
    pid_t group() const noexcept { return group_; }
    /// This process is in the same group, so that a terminal sends the same signals to both.
    bool beside() const noexcept { return beside_; }
    /// Readable once it has ended. Close-on-exec, above 2.
    int descriptor() const noexcept { return descriptor_; }
    /// Nothing happens once it has ended.
    void signal(int number) const noexcept;
    /// Processes of the group are left, the caller or others. Their number is theirs alone.
    bool group_is_left() const noexcept;
    /// Once it got SIGTERM: ends them, whether or not the caller is one of them still.
    void kill_group() const noexcept;

private:
    pid_t pid_;
    pid_t group_ = 0;
    bool beside_ = false;
    int descriptor_ = -1;
};

}  // namespace conch::cli

#endif
