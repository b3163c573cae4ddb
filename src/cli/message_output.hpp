// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_MESSAGE_OUTPUT_HPP
#define CONCH_SRC_CLI_MESSAGE_OUTPUT_HPP

#include <conch/clock.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace conch::cli {

/// Lines for a descriptor that others have too, such as standard error, from a process that must
/// not be kept waiting by whoever reads it: a pager, a terminal after Ctrl-S.
///
/// A line that finds no room waits here for the next one. No flag of the descriptor is changed:
/// those belong to everybody who has it. Where nobody reads any more, lines are dropped; SIGPIPE
/// has to be blocked or ignored.
class message_output {
public:
    /// The descriptor outlives this object; if it is not open, every line is dropped.
    explicit message_output(int descriptor);
    ~message_output();
    message_output(const message_output&) = delete;
    message_output& operator=(const message_output&) = delete;

    /// Writes a line, without its '\n', and those that wait; never blocks. A line that is longer
    /// than what a pipe takes at once (PIPE_BUF) is cut.
    void line(std::string_view text);
    /// Waits until all is written, for so long at most, and gives the rest up.
    void finish(duration longest);

private:
    enum class kind { closed, plain, socket };

    void write_waiting();
    std::ptrdiff_t write_some(const char* data, std::size_t size) const noexcept;
    bool has_room(int timeout_ms) const noexcept;

    const int fd_;
    kind kind_ = kind::closed;
    int own_ = -1;  ///< the same file under non-blocking flags of its own; -1: there is none
    bool may_block_ = false;  ///< a write to `fd_` can have to wait for its reader
    std::string waiting_{};
};

}  // namespace conch::cli

#endif
