// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RUN_SESSION_HPP
#define CONCH_SRC_CLI_RUN_SESSION_HPP

#include "cli/command_line.hpp"
#include "cli/signal_watch.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

#include <string>

namespace conch::cli {

struct run_plan {
    config server;
    std::string lock_name;
    lock_options lock;
    word_list command;
};

/// One `conch run`: acquires the lock, runs the command under it, releases, tells the exit status.
///
/// The command never outlives the hold while this process can help it: SIGTERM a sixth of the
/// lease before the hold would end (or at once when the server says that it has), SIGKILL at the
/// end. The command's own children are not ended.
class run_session {
public:
    /// Throws `std::invalid_argument` for a bad lock name.
    explicit run_session(const run_plan& plan);
    /// The exit status of `conch run`.
    int go();

private:
    enum class phase { waiting, running, releasing };

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<error_code> acquire();
    boost::asio::awaitable<void> supervise();
    boost::asio::awaitable<void> guard_lease();
    boost::asio::awaitable<void> release();
    boost::asio::awaitable<void> watch_signals();

    void on_signal(const signalfd_siginfo& signal);
    void reap();
    void start_child();
    void signal_child(int signal) noexcept;
    int refused(error_code ec);
    void report_loss(error_code reason);
    void say(const std::string& line) const;

    const run_plan& plan_;
    boost::asio::cancellation_signal give_up_;  ///< outlives what it may cancel
    boost::asio::io_context io_{1};
    signal_watch signals_;
    boost::asio::posix::stream_descriptor signal_stream_;
    boost::asio::steady_timer child_event_;  ///< cancelled when the child has ended
    boost::asio::steady_timer lease_timer_;  ///< cancelled when the hold or the child has ended
    client redis_;
    mutex mutex_;
    hold hold_;

    phase phase_ = phase::waiting;
    pid_t child_ = -1;
    int stop_signal_ = 0;     ///< what ended the waiting
    error_code loss_{};       ///< why the hold was lost, as the library told it
    bool in_danger_ = false;  ///< the child was told to end because of the lease
    int exit_status_ = 0;
};

}  // namespace conch::cli

#endif
