// SPDX-License-Identifier: BSL-1.0
#include "cli/demo_workers.hpp"

#include "cli/child.hpp"
#include "cli/command_error.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <cstring>

namespace conch::cli {

demo_workers::demo_workers(const shared_board& board, const sigset_t& signal_mask) : board_{board} {
    for (std::uint32_t i = 0; i < board->processes; ++i) {
        const std::string board_fd = std::to_string(board.descriptor());
        const child_plan plan{.program = "/proc/self/exe",
                              .words = {"conch", "demo-worker", board_fd, std::to_string(i)},
                              .signal_mask = signal_mask,
                              .kept_descriptor = board.descriptor()};
        launched result;
        try {
            result = launch(plan);
        } catch (...) {
            kill();
            throw;
        }
        if (result.error != 0) {
            kill();
            throw os_failure("cannot start this program again (/proc/self/exe)", result.error);
        }
        pids_.push_back(result.pid);
        ++running_;
    }
}

demo_workers::~demo_workers() { kill(); }

void demo_workers::reap() {
    for (std::uint32_t i = 0; i < pids_.size(); ++i) {
        int wait_status = 0;
        if (pids_[i] > 0 && ::waitpid(pids_[i], &wait_status, WNOHANG) == pids_[i]) {
            collect(i, wait_status);
        }
    }
}

void demo_workers::kill() {
    for (std::uint32_t i = 0; i < pids_.size(); ++i) {
        if (pids_[i] <= 0) {
            continue;
        }
        ::kill(pids_[i], SIGKILL);
        int wait_status = 0;
        while (::waitpid(pids_[i], &wait_status, 0) < 0 && errno == EINTR) {
        }
        collect(i, wait_status);
    }
}

bool demo_workers::all_ready() const noexcept {
    for (std::uint32_t i = 0; i < board_->processes; ++i) {
        if (board_->workers[i].state.load() != worker_state::ready) {
            return false;
        }
    }
    return true;
}

void demo_workers::collect(std::uint32_t index, int wait_status) {
    pids_[index] = -1;
    --running_;
    const int status = shell_status(wait_status);
    const worker_record& record = board_->workers[index];
    std::string text{record.error.get()};
    if (status == 0 && record.state.load() == worker_state::ended) {
        return;
    }
    if (WIFSIGNALED(wait_status) && text.empty()) {
        text = std::string{"ended by a signal: "} + ::strsignal(WTERMSIG(wait_status));
    } else if (text.empty()) {
        text = "ended with status " + std::to_string(status);
    }
    failures_.push_back({index, status, std::move(text)});
}

}  // namespace conch::cli
