// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RATE_SESSION_HPP
#define CONCH_SRC_CLI_RATE_SESSION_HPP

#include "cli/message_output.hpp"
#include "cli/rate_plan.hpp"
#include "cli/signal_watch.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>
#include <string>

namespace conch::cli {

/// The part of a `conch rate` before its command: asks for the permits, and waits for them if need
/// be. What was granted stays granted, so nothing is left to do when the command runs.
class rate_session {
public:
    /// Throws `std::invalid_argument` for a bad name.
    explicit rate_session(const rate_plan& plan);
    /// Nothing: the command is to be run. Else the exit status of `conch rate`. No thread and no
    /// connection is left; the signals stay blocked.
    std::optional<int> go();
    /// Ctrl-C ended the waiting: the caller has to end by SIGINT in turn, or the shell script that
    /// it is part of would go on.
    bool interrupted() const noexcept { return interrupted_; }
    /// The signals that the command starts with as blocked.
    const sigset_t& former_mask() const noexcept { return signals_.former_mask(); }

private:
    using answer = first_contact::verdict;

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<answer> ask();
    boost::asio::awaitable<void> watch_signals();
    void on_signal(const signalfd_siginfo& signal);
    void judge(error_code ec, const rate_verdict& verdict);
    std::string name_and_server() const;
    std::string use(const rate_verdict& verdict) const;
    void say(const std::string& line);
    void detail(const std::string& line);

    const rate_plan& plan_;
    message_output messages_;
    boost::asio::cancellation_signal give_up_;  ///< outlives what it may cancel
    boost::asio::io_context io_{1};
    signal_watch signals_;
    boost::asio::posix::stream_descriptor signal_stream_;
    client redis_;
    rate_limiter limiter_;
    first_contact contact_;

    time_point asked_at_{};
    std::optional<int> exit_status_{};
    bool ending_ = false;
    bool interrupted_ = false;
};

}  // namespace conch::cli

#endif
