// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_DEMO_WORKERS_HPP
#define CONCH_SRC_CLI_DEMO_WORKERS_HPP

#include "cli/demo_board.hpp"

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::cli {

struct worker_failure {
    std::uint32_t index;
    int exit_status;  ///< as the shell tells it
    std::string text;
};

/// The demo's processes: this program again, with the board inherited. The kernel kills them if
/// this process dies, the destructor kills those that still run.
class demo_workers {
public:
    /// Starts `board->processes` of them. Throws `command_error`.
    demo_workers(const shared_board& board, const sigset_t& signal_mask);
    ~demo_workers();
    demo_workers(const demo_workers&) = delete;
    demo_workers& operator=(const demo_workers&) = delete;

    /// Collects those that have ended.
    void reap();
    /// Kills and collects the rest.
    void kill();

    std::size_t running() const noexcept { return running_; }
    bool all_ready() const noexcept;
    const std::vector<worker_failure>& failures() const noexcept { return failures_; }

private:
    void collect(std::uint32_t index, int wait_status);

    const shared_board& board_;
    std::vector<pid_t> pids_;  ///< -1: collected
    std::size_t running_ = 0;
    std::vector<worker_failure> failures_;
};

}  // namespace conch::cli

#endif
