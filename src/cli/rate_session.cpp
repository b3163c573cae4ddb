// SPDX-License-Identifier: BSL-1.0
#include "cli/rate_session.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

namespace conch::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// SIGPIPE is watched only to be blocked, and taken away before the command could inherit it.
rate_session::rate_session(const rate_plan& plan)
    : session{plan, "conch rate", {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE}},
      plan_{plan},
      limiter_{redis_, plan.name, plan.allowed, plan.algorithm} {}

std::optional<int> rate_session::go() {
    run(conduct());
    finish_messages();
    take_signals();
    return exit_status_;
}

asio::awaitable<void> rate_session::conduct() {
    const auto [ec, verdict] = co_await ask();
    if (!exit_status_) {
        judge(ec, verdict);
    }
    ending_ = true;
    co_await redis_.async_shutdown(as_result);
    ignore_signals();
}

asio::awaitable<rate_session::answer> rate_session::ask() {
    asked_at_ = clock::now();
    const answer first = co_await contact_.ask(limiter_, plan_.permits);
    const auto& [ec, verdict] = first;
    const rate_options patience{.wait = plan_.wait - (clock::now() - asked_at_)};
    const bool settled =
        ec ? ec != errc::outcome_unknown && !is_waited_for(ec, patience.wait) : verdict.allowed;
    if (exit_status_ || settled || patience.wait <= 0ns) {
        co_return first;
    }
    detail("waiting for " + in_quotes(plan_.name) + ": " + (ec ? why(ec) : use(verdict)));
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
    const bool unknown = ec == errc::outcome_unknown;
    say("no permit of " + in_quotes(plan_.name) + ": " + why(ec) +
        (unknown ? "; what was asked for may have been counted; nothing was run" : ""));
    exit_status_ = exit_status_for(ec);
}

std::string rate_session::why(error_code ec) const {
    return explain(ec, redis_.last_server_error(), server_label(plan_.server));
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

}  // namespace conch::cli
