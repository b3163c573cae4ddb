// SPDX-License-Identifier: BSL-1.0
#include "cli/rate_session.hpp"

#include "cli/command_error.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <exception>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
/// For messages that nobody reads, before the command runs.
constexpr duration longest_farewell = 1s;

void rethrow(std::exception_ptr error) {
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace

// SIGPIPE is watched only to be blocked, and taken away before the command could inherit it.
rate_session::rate_session(const rate_plan& plan)
    : plan_{plan},
      messages_{STDERR_FILENO},
      signals_{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE},
      signal_stream_{io_, signals_.duplicate()},
      redis_{io_, with_log(plan.server.settings,
                           [this](log_level, std::string_view line) { detail(printable(line)); })},
      limiter_{redis_, plan.name, plan.allowed, plan.algorithm},
      contact_{io_, redis_, plan.server} {}

std::optional<int> rate_session::go() {
    asio::co_spawn(io_, watch_signals(), rethrow);
    asio::co_spawn(io_, conduct(), rethrow);
    io_.run();
    messages_.finish(longest_farewell);
    while (const auto signal = signals_.next()) {
        on_signal(*signal);
    }
    return exit_status_;
}

asio::awaitable<void> rate_session::conduct() {
    const auto [ec, verdict] = co_await ask();
    if (!exit_status_) {
        judge(ec, verdict);
    }
    ending_ = true;
    co_await redis_.async_shutdown(as_result);
    signal_stream_.close();
}

asio::awaitable<rate_session::answer> rate_session::ask() {
    asked_at_ = clock::now();
    const answer first = co_await contact_.ask(limiter_, plan_.permits);
    const auto& [ec, verdict] = first;
    const rate_options patience{.wait = plan_.wait - (clock::now() - asked_at_)};
    const bool settled = ec ? ec != errc::outcome_unknown : verdict.allowed;
    if (exit_status_ || settled || patience.wait <= 0ns) {
        co_return first;
    }
    detail("waiting for " + quoted(plan_.name) + ": " + (ec ? ec.message() : use(verdict)));
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [last_ec, last_verdict] =
        co_await limiter_.async_acquire(plan_.permits, patience, token);
    const answer last{last_ec, last_verdict};
    co_return last;
}

void rate_session::judge(error_code ec, const rate_verdict& verdict) {
    const duration taken = clock::now() - asked_at_;
    if (!ec && verdict.allowed) {
        detail("granted after " + short_time(taken) + ": " + use(verdict));
        return;
    }
    if (!ec || ec == errc::timed_out) {
        if (!plan_.quiet) {
            say(name_and_server() + ": refused" +
                (plan_.wait > 0ns ? " after " + short_time(taken) : "") + ": " + use(verdict) +
                "; nothing was run");
        }
        exit_status_ = plan_.refused_status;
        return;
    }
    std::string why = explain(ec, redis_.last_server_error(), plan_.server.settings);
    if (ec == errc::outcome_unknown) {
        why += "; what was asked for may have been counted; nothing was run";
    }
    say("no permit of " + quoted(plan_.name) + ": " + why);
    exit_status_ = exit_status_for(ec);
}

asio::awaitable<void> rate_session::watch_signals() {
    for (;;) {
        const auto [ec] = co_await signal_stream_.async_wait(
            asio::posix::stream_descriptor::wait_read, as_result);
        if (ec) {
            co_return;
        }
        while (const auto signal = signals_.next()) {
            on_signal(*signal);
        }
    }
}

// A signal that comes when the permits are granted, but before the command runs, ends it too.
void rate_session::on_signal(const signalfd_siginfo& signal) {
    const auto number = static_cast<int>(signal.ssi_signo);
    if (number == SIGPIPE) {
        return;
    }
    if (!exit_status_ || !ending_) {
        exit_status_ = exit_code::by_signal + number;
        interrupted_ = number == SIGINT && from_terminal(signal);
    }
    if (ending_) {
        io_.stop();
    }
    contact_.cancel();
    give_up_.emit(asio::cancellation_type::terminal);
}

std::string rate_session::name_and_server() const {
    return quoted(plan_.name) + " (" + server_label(plan_.server.settings) + ')';
}

/// "5 of 5 in use, next in 1.20 s"
std::string rate_session::use(const rate_verdict& verdict) const {
    std::string text =
        std::to_string(verdict.count) + " of " + std::to_string(verdict.limit) + " in use";
    if (verdict.allowed) {
        return text + ", all free again in " + short_time(verdict.reset_after);
    }
    if (plan_.permits > 1) {
        text += ", " + std::to_string(plan_.permits) + " wanted";
    }
    if (verdict.retry_after <= 0ns) {
        return text + ", no answer since";
    }
    return text + ", next in " + short_time(verdict.retry_after);
}

void rate_session::say(const std::string& line) { messages_.line("conch rate: " + line); }

void rate_session::detail(const std::string& line) {
    if (plan_.verbose) {
        say(line);
    }
}

}  // namespace conch::cli
