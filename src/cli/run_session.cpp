// SPDX-License-Identifier: BSL-1.0
#include "cli/run_session.hpp"

#include "cli/child.hpp"
#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <system_error>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
/// What a command gets to end in, at most, once its lock is gone already.
constexpr duration longest_grace = 5s;

void rethrow(std::exception_ptr error) {
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace

run_session::run_session(const run_plan& plan)
    : plan_{plan},
      signals_{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD},
      signal_stream_{io_, ::fcntl(signals_.descriptor(), F_DUPFD_CLOEXEC, 0)},
      child_event_{io_, asio::steady_timer::time_point::max()},
      lease_timer_{io_},
      redis_{io_, plan.server},
      mutex_{redis_, plan.lock_name} {}

int run_session::go() {
    asio::co_spawn(io_, watch_signals(), rethrow);
    asio::co_spawn(io_, conduct(), rethrow);
    io_.run();
    return exit_status_;
}

asio::awaitable<void> run_session::conduct() {
    const error_code ec = co_await acquire();
    if (ec || stop_signal_ != 0) {
        exit_status_ = refused(ec);
    } else {
        start_child();
        if (child_ > 0) {
            co_await supervise();
        }
    }
    phase_ = phase::releasing;
    if (hold_) {
        co_await release();
    }
    co_await redis_.async_shutdown(as_result);
    signal_stream_.close();
}

asio::awaitable<error_code> run_session::acquire() {
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    auto [ec, granted] = co_await mutex_.async_lock(plan_.lock, token);
    hold_ = std::move(granted);
    co_return ec;
}

asio::awaitable<void> run_session::supervise() {
    phase_ = phase::running;
    asio::co_spawn(io_, guard_lease(), rethrow);
    hold_.async_wait_lost([this](error_code ec) {
        if (ec && ec != asio::error::operation_aborted && child_ > 0) {
            loss_ = ec;
            lease_timer_.cancel();
        }
    });
    while (child_ > 0) {
        co_await child_event_.async_wait(as_result);
    }
    if (!loss_ && !hold_.owns_lock()) {
        loss_ = hold_.lost_reason();
        if (!loss_) {
            loss_ = errc::lease_expired;
        }
    }
    if (loss_ || in_danger_) {
        report_loss(loss_);
    }
}

// Waits are capped: the timer's clock stands still while the machine is suspended, the lease's
// does not.
asio::awaitable<void> run_session::guard_lease() {
    const duration margin = plan_.lock.lease / 6;
    while (child_ > 0 && !loss_) {
        const duration left = hold_.remaining() - margin;
        if (left <= 0ns) {
            break;
        }
        lease_timer_.expires_after(std::min<duration>(left, 1s));
        co_await lease_timer_.async_wait(as_result);
    }
    if (child_ <= 0) {
        co_return;
    }
    in_danger_ = true;
    signal_child(SIGTERM);
    signal_child(SIGCONT);
    const duration grace = loss_ ? std::min(margin, longest_grace) : hold_.remaining();
    const time_point last = clock::now() + grace;
    while (child_ > 0 && clock::now() < last) {
        lease_timer_.expires_after(std::min<duration>(last - clock::now(), 1s));
        co_await lease_timer_.async_wait(as_result);
    }
    signal_child(SIGKILL);
}

asio::awaitable<void> run_session::release() {
    const duration left = hold_.remaining();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec] = co_await hold_.async_unlock(token);
    if (!ec || in_danger_ || loss_) {
        co_return;
    }
    if (ec == errc::lock_lost) {
        report_loss(ec);
    } else {
        say("the release of " + quoted(plan_.lock_name) + " is not confirmed (" + ec.message() +
            "); it ends with its lease, in " + short_time(left) + " or less");
    }
}

asio::awaitable<void> run_session::watch_signals() {
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

void run_session::on_signal(const signalfd_siginfo& signal) {
    const auto number = static_cast<int>(signal.ssi_signo);
    if (number == SIGCHLD) {
        reap();
        return;
    }
    switch (phase_) {
        case phase::waiting:
            stop_signal_ = number;
            give_up_.emit(asio::cancellation_type::terminal);
            break;
        case phase::running:
            if (!from_terminal(signal)) {
                signal_child(number);
            }
            break;
        case phase::releasing: give_up_.emit(asio::cancellation_type::terminal); break;
    }
}

void run_session::reap() {
    int wait_status = 0;
    if (child_ <= 0 || ::waitpid(child_, &wait_status, WNOHANG) != child_) {
        return;
    }
    child_ = -1;
    exit_status_ = shell_status(wait_status);
    child_event_.cancel();
    lease_timer_.cancel();
}

void run_session::start_child() {
    const word_list& words = plan_.command;
    const child_plan how{words.front(), words, signals_.former_mask(), SIGTERM};
    const launched result = launch(how);
    child_ = result.pid;
    if (result.error != 0) {
        say("cannot run " + quoted(plan_.command.front()) + ": " +
            std::generic_category().message(result.error));
        exit_status_ = result.error == ENOENT ? exit_code::not_found : exit_code::cannot_run;
    }
}

void run_session::signal_child(int signal) noexcept {
    if (child_ > 0) {
        ::kill(child_, signal);
    }
}

int run_session::refused(error_code ec) {
    if (stop_signal_ != 0) {
        return exit_code::by_signal + stop_signal_;
    }
    if (ec == errc::timed_out) {
        const duration wait = plan_.lock.wait.value_or(forever);
        say(quoted(plan_.lock_name) + " is held by someone else" +
            (wait > 0ns ? ", still after " + short_time(wait) : "") + "; nothing was run");
    } else {
        say(explain(ec, redis_.last_server_error(), plan_.server));
    }
    return exit_status_for(ec);
}

void run_session::report_loss(error_code reason) {
    say("the lock " + quoted(plan_.lock_name) + " was " +
        (reason ? "lost (" + reason.message() + ")" : "about to be lost (it can't be renewed)") +
        " while the command ran; the command ended with status " + std::to_string(exit_status_));
    exit_status_ = exit_code::lock_lost;
}

void run_session::say(const std::string& line) const { std::cerr << "conch run: " << line << '\n'; }

}  // namespace conch::cli
