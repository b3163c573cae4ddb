// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_SESSION_HPP
#define CONCH_SRC_CLI_SESSION_HPP

#include "cli/command_plan.hpp"
#include "cli/message_output.hpp"
#include "cli/signal_watch.hpp"

#include <conch/conch.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

/// What `conch run`, `conch hold` and `conch rate` have in common: an event loop on one thread,
/// signals as data, a client, and messages that keep nobody waiting.
class session {
public:
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Ctrl-C ended the waiting, or the command: the caller has to end by SIGINT in turn, or the
    /// shell script that it is part of would go on.
    bool interrupted() const noexcept { return interrupted_; }
    /// The signals that the command starts with as blocked.
    const sigset_t& former_mask() const noexcept { return signals_.former_mask(); }
    bool ignored_children() const noexcept { return signals_.ignored_children(); }

protected:
    static constexpr boost::asio::as_tuple_t<boost::asio::use_awaitable_t<>> as_result{
        boost::asio::use_awaitable};

    /// `title`: what its messages begin with.
    session(const command_plan& plan, std::string title, const std::vector<int>& signals);
    ~session() = default;

    virtual void on_signal(const signalfd_siginfo& signal) = 0;
    /// Runs the body, and the loop until all is done, which takes `ignore_signals()`.
    void run(boost::asio::awaitable<void> body);
    /// What it throws comes out of `run()`.
    void start(boost::asio::awaitable<void> body);
    /// Hands over the signals that are there.
    void take_signals();
    void ignore_signals() { signal_stream_.close(); }
    void say(std::string_view line) { messages_.line((title_ + ": ").append(line)); }
    /// If the user wants to know it (-v).
    void detail(std::string_view line);
    /// Whether what failed so is tried for the time that is left, as the server is there, and
    /// refuses for now: it has no room for another client, or loads its data. Says that it is.
    bool is_waited_for(error_code ec, duration left);
    /// Waits for who reads the messages, if anybody does.
    void finish_messages();
    std::string name_and_server() const;

private:
    void on_warning(std::string_view line);
    void tell_refusal(std::string_view line);
    boost::asio::awaitable<void> watch_signals();

    const command_plan& common_;
    const std::string title_;
    message_output messages_;

protected:
    boost::asio::cancellation_signal give_up_;  ///< outlives what it may cancel
    boost::asio::io_context io_{1};

private:
    signal_watch signals_;
    boost::asio::posix::stream_descriptor signal_stream_;

protected:
    client redis_;
    first_contact contact_;
    bool interrupted_ = false;
};

}  // namespace conch::cli

#endif
