// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_TOP_SESSION_HPP
#define CONCH_SRC_CLI_TOP_SESSION_HPP

#include "cli/full_screen.hpp"
#include "cli/lock_survey.hpp"
#include "cli/one_lock.hpp"
#include "cli/signal_watch.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace conch::cli {

struct top_plan {
    server_choice server;
    survey_terms terms;
    column by = column::waiting;
    duration interval{};  ///< from the end of a survey to the next
};

/// One `conch top`: an event loop on one thread, for the server, the terminal and signals.
class top_session {
public:
    /// Throws `command_error` where there is no terminal.
    explicit top_session(const top_plan& plan);

    /// The exit status. Throws `command_error` if there is no server at the start.
    int go();

private:
    using descriptor = boost::asio::posix::stream_descriptor;

    boost::asio::awaitable<void> conduct();
    void start(boost::asio::awaitable<void> body);
    boost::asio::awaitable<void> watch_signals();
    boost::asio::awaitable<void> watch_keys();
    boost::asio::awaitable<void> watch_clock();
    boost::asio::awaitable<void> survey_all();
    boost::asio::awaitable<void> survey_once();
    boost::asio::awaitable<void> survey_one();
    boost::asio::awaitable<void> survey_one_once();
    boost::asio::awaitable<void> write_rest();
    void on_signal(int signal);
    void on_keys(std::string_view bytes);
    void draw();
    void end();

    const top_plan& plan_;
    full_screen screen_;
    const signal_watch signals_;
    one_server the_;
    const inspector redis_;
    descriptor signal_stream_;
    descriptor key_stream_;
    boost::asio::steady_timer survey_timer_;
    boost::asio::steady_timer one_timer_;
    boost::asio::steady_timer clock_timer_;
    boost::asio::steady_timer over_timer_;

    key_reader keys_{};
    top_view view_;
    time_point next_survey_{};
    time_point next_one_{};
    time_point one_allowed_{};  ///< no sooner, however fast somebody presses Enter
    bool writing_ = false;      ///< the terminal has not taken all
    bool over_ = false;
    int signal_ = 0;
};

}  // namespace conch::cli

#endif
