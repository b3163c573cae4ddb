// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_FULL_SCREEN_HPP
#define CONCH_SRC_CLI_FULL_SCREEN_HPP

#include "cli/top_view.hpp"

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// The whole of the terminal, between `enter()` and `leave()`: its alternate screen without a
/// cursor, its keys without echo. Ctrl-C and its kin still send signals. No call blocks, but
/// `leave()` for a moment.
class full_screen {
public:
    /// Throws `command_error` where standard output is no terminal that can do this.
    full_screen();
    /// Leaves.
    ~full_screen();
    full_screen(const full_screen&) = delete;
    full_screen& operator=(const full_screen&) = delete;

    /// A process in the background is stopped here, as by any program that wants the terminal.
    void enter();
    /// The terminal is as it was before `enter()`. False: it was so already.
    bool leave() noexcept;
    /// After the process was stopped by somebody who did not ask: what a shell has set meanwhile
    /// is set again.
    void enter_again();

    screen_size size() const noexcept;
    /// Shows these lines in place of those that are there; nothing is done while the terminal is
    /// slow: see `flush()`.
    void draw(const std::vector<screen_line>& lines, screen_size size);
    /// The next `draw()` draws all, as the terminal may show something else.
    void forget() noexcept { drawn_.clear(); }
    /// Writes what the terminal takes. False: it did not take all yet.
    bool flush() noexcept;
    /// What was typed; empty: nothing more. None: the terminal is gone.
    std::optional<std::string> read() noexcept;
    /// The terminal once more, for an owner that closes it. Throws `command_error`.
    int duplicate() const;

private:
    bool in_foreground() const noexcept;
    void take();

    int fd_ = -1;
    bool inside_ = false;
    termios former_{};
    std::string unwritten_{};
    std::string drawn_{};
};

/// Stops this process as Ctrl-Z does, until somebody continues it. Nothing is done where no shell
/// could continue it.
void stop_here() noexcept;

}  // namespace conch::cli

#endif
