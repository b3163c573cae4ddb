// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SIGNAL_WATCH_HPP
#define CONCH_SRC_CLI_SIGNAL_WATCH_HPP

#include <sys/signalfd.h>

#include <csignal>
#include <optional>
#include <vector>

namespace conch::cli {

/// All that can be caught, but for those that tell of a fault in this process.
std::vector<int> signals_without_faults();

/// This process itself wrote or computed more than it may.
bool is_own_limit(const signalfd_siginfo& signal) noexcept;

/// Turns signals into data: blocks them for this thread and for those it starts later, and hands
/// them out through a descriptor that can be polled (signalfd(2)).
///
/// Signals that this process was started with as ignored (nohup) stay ignored; but SIGCHLD, if
/// asked for, always arrives. The signals stay blocked when the object goes, so that a late one
/// does not end the program before its exit status is told. A child started with `launch()` gets
/// `former_mask()` back.
class signal_watch {
public:
    explicit signal_watch(const std::vector<int>& signals);
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

    /// Readable when a signal is there; non-blocking, close-on-exec.
    int descriptor() const noexcept { return fd_; }
    /// The same once more, for an owner that closes it. Throws `command_error`.
    int duplicate() const;
    /// The next signal, if there is one.
    std::optional<signalfd_siginfo> next() const;
    const sigset_t& former_mask() const noexcept { return former_mask_; }
    /// This process was started with SIGCHLD ignored.
    bool ignored_children() const noexcept { return ignored_children_; }

private:
    int fd_ = -1;
    sigset_t former_mask_{};
    bool ignored_children_ = false;
};

/// Ends this process, or its process group, as Ctrl-C ends one: by SIGINT.
void end_by_interrupt(bool whole_group) noexcept;

/// The kernel sent it to the terminal's whole foreground process group (Ctrl-C).
bool from_terminal(const signalfd_siginfo& signal) noexcept;

}  // namespace conch::cli

#endif
