// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_JOB_HPP
#define CONCH_SRC_CLI_JOB_HPP

#include "cli/child.hpp"
#include "cli/guardian.hpp"
#include "cli/terminal.hpp"

namespace conch::cli {

/// The command of `conch run`, as a shell sees a job: a process group of its own, that has the
/// terminal while the group of this process would have it.
///
/// The terminal is given at once, but on demand (the command stops by SIGTTIN or SIGTTOU) where
/// this process is in a pipeline: its neighbour there may be a pager, which reads from the terminal
/// too. It is taken back when the command stops or ends.
class job {
public:
    enum class change { none, ended, stopped, continued };

    /// With a guardian; again, once the group is `gone()`. `adopts`: from the start on, so that
    /// `gone()` can tell in any case. Throws as `launch()`.
    launched start(child_plan plan, const guardian::terms& lease, bool adopts);
    /// Tells the guardian, as often as that becomes later.
    void lease_ends(time_point at) noexcept { guardian_.lease_ends(at); }
    /// The guardian has begun to end the group.
    bool guardian_has_acted() const noexcept { return guardian_.has_acted(); }
    /// Whether the group stands still, so that the guardian sends no SIGTERM.
    void stands_still(bool still) noexcept { guardian_.spare_term(still); }
    /// Nothing of the group is to be ended any more.
    void dismiss_guardian() noexcept { guardian_.dismiss(); }

    /// The command itself has not ended.
    bool running() const noexcept { return running_; }
    bool stopped() const noexcept { return running_ && stop_signal_ != 0; }
    /// What stopped it.
    int stop_signal() const noexcept { return stop_signal_; }
    /// As the shell tells it, once the command has ended.
    int status() const noexcept { return status_; }
    /// It was ended by SIGINT while it had the terminal: by Ctrl-C, as far as one can tell.
    bool interrupted() const noexcept { return interrupted_; }

    /// To the whole group; after the command's end only if its orphans are adopted.
    void signal(int number) noexcept;
    /// Takes what is told next of the command, after SIGCHLD.
    change next() noexcept;
    /// Where this process is the parent of others' orphans: as the first one of a system or a
    /// container, or as it has adopted them.
    void reap_orphans() noexcept;

    bool wants_terminal() const noexcept { return wants_terminal_; }
    bool may_have_terminal() const noexcept { return terminal_.ours(); }
    /// Gives the terminal to the group if it wants it and may have it.
    void lend_terminal() noexcept;
    void take_terminal() noexcept;

    /// SIGTERM to the group, which goes on for that if it is stopped. From now on, this process
    /// adopts the group's orphans, so that `gone()` can tell of them.
    void terminate() noexcept;
    /// Nobody of the group is left, but for orphans that were not adopted.
    bool gone() noexcept;

private:
    void adopt() noexcept;

    terminal terminal_{};
    guardian guardian_{};
    pid_t pid_ = -1;
    bool running_ = false;
    bool wants_terminal_ = false;
    bool interrupted_ = false;
    bool adopting_ = false;
    int stop_signal_ = 0;
    int status_ = 0;
};

/// Stops this process, or its whole group, by a stop signal that may be blocked. Returns when it
/// goes on: true if it was stopped. It wasn't if the signal is ignored, or if nobody could ever
/// continue it: the kernel does not stop an orphaned group (POSIX, Job Control).
/// SIGCONT has to be blocked.
bool stop_self(int signal, bool whole_group) noexcept;

}  // namespace conch::cli

#endif
