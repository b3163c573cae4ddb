// SPDX-License-Identifier: BSL-1.0
// The half of `run_session` that watches: the lease, signals, and the command.
#include "cli/run_session.hpp"
#include "cli/text.hpp"

#include <unistd.h>

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

bool asks_to_end(int number) noexcept {
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

}  // namespace

// Once the hold is lost, what is left of its lease may be told no more.
void run_session::note_lease() noexcept {
    if (hold_.owns_lock()) {
        lease_end_ = hold_.valid_until();
        job_.lease_ends(lease_end_);
    }
}

asio::awaitable<void> run_session::guard_lease() {
    while (job_.running() && !loss_) {
        note_lease();
        // A hold that is being extended after a stop is not given up early.
        const duration margin = going_on_ ? time_to_die() : time_to_end();
        const duration left = hold_.remaining() - margin;
        if (left <= 0ns) {
            break;
        }
        co_await nap(left);
    }
    if (job_.running()) {
        co_await end_command();
    }
    guarding_ = false;
    child_event_.cancel();
}

// Stopped for long, this process learns of the lease's end and of the command's at once, in any
// order.
void run_session::note_danger() noexcept {
    if (!in_danger_) {
        in_danger_ = true;
        stood_still_ = job_.guardian_has_acted();
    }
}

asio::awaitable<void> run_session::end_command() {
    note_danger();
    told_to_end_ = true;
    if (!loss_) {
        // Told at once: the hold ends within one lease.
        std::tie(foreseen_) = co_await hold_.async_wait_lost(*plan_.lock.lease, as_result);
    }
    at_max_hold_ = !loss_ && max_hold_is_near();
    const duration left = lease_end_ - clock::now() - time_to_die();
    const bool held = !loss_ && hold_.owns_lock();
    const duration most = held ? left : std::min({left, plan_.grace, longest_grace});
    const time_point last = clock::now() + most;
    // Stopped, the command would have to go on to get SIGTERM, beside whoever has the lock by now.
    if (most > 0ns || !job_.stopped()) {
        job_.terminate();
    }
    detail("the lock " + name_and_server() + (held ? " is about to be lost" : " is lost") +
           ": ending the command");
    while (!job_.gone() && clock::now() < last) {
        co_await nap(last - clock::now());
    }
    job_.signal(SIGKILL);
    while (job_.running()) {
        co_await nap(1s);
    }
}

// Those of the group that outlive the command must not outlive the lead.
asio::awaitable<void> run_session::end_rest() {
    job_.signal(SIGKILL);
    while (!job_.gone()) {
        co_await nap(1s);
    }
}

// Whatever is written is progress. This process keeps a writer open, so there is no end.
asio::awaitable<void> run_session::watch_progress() {
    std::array<char, 4096> some;
    for (error_code ec; !ec;) {
        std::tie(ec, std::ignore) =
            co_await reports_.async_read_some(asio::buffer(some), as_result);
        if (!ec) {
            hold_.progress();
        }
    }
}

// Stopped, this process did not renew, nor the command report progress: the lease may have ended,
// and someone else may hold the lock. So the server is asked before the command goes on.
asio::awaitable<void> run_session::go_on() {
    hold_.progress();
    co_await hold_.async_extend(*plan_.lock.lease, as_result);
    note_lease();
    going_on_ = false;
    job_.stands_still(false);
    if (!in_danger_ && !loss_ && hold_.owns_lock() && hold_.remaining() > plan_.grace) {
        job_.lend_terminal();
        job_.signal(SIGCONT);
    }
    lease_timer_.cancel();
}

void run_session::on_signal(const signalfd_siginfo& signal) {
    const auto number = static_cast<int>(signal.ssi_signo);
    if (number == SIGCHLD) {
        on_child();
        return;
    }
    if (number == SIGTTIN || number == SIGTTOU || number == SIGPIPE || is_own_limit(signal)) {
        return;
    }
    const bool job_control = number == SIGTSTP || number == SIGCONT;
    const bool ends_nothing = job_control || number == SIGWINCH || number == SIGURG;
    switch (phase_) {
        case phase::waiting:
            if (number == SIGTSTP) {
                stop_self(SIGTSTP, false);
            } else if (!ends_nothing) {
                stop_signal_ = number;
                interrupted_ = number == SIGINT && from_terminal(signal);
                contact_.cancel();
                give_up_.emit(asio::cancellation_type::terminal);
            }
            break;
        case phase::running:
            // Only in a pipeline is this process in the foreground while the command runs.
            interrupted_ = interrupted_ || (number == SIGINT && from_terminal(signal));
            asked_to_end_ = asks_to_end(number) ? number : asked_to_end_;
            if (number == SIGTERM || (in_danger_ && asks_to_end(number))) {
                end_signal_ = number;
            }
            on_signal_while_running(number);
            break;
        case phase::releasing:
            if (!ends_nothing) {
                hurried_ = true;
                end_signal_ = number;
                give_up_.emit(asio::cancellation_type::terminal);
            }
            break;
    }
}

void run_session::on_signal_while_running(int number) {
    if (number != SIGCONT) {
        job_.signal(number);
        // It can't end while it is stopped.
        if (job_.stopped() && (number == SIGTERM || number == SIGHUP)) {
            job_.signal(SIGCONT);
        }
        return;
    }
    if (!job_.stopped()) {
        job_.stands_still(false);
        job_.lend_terminal();
        job_.signal(SIGCONT);
    } else if (!going_on_ && !in_danger_) {
        going_on_ = true;
        start(go_on());
    }
}

void run_session::on_child() {
    for (job::change c = job_.next(); c != job::change::none; c = job_.next()) {
        if (c == job::change::stopped) {
            on_stop();
        }
    }
    job_.reap_orphans();
    child_event_.cancel();
    lease_timer_.cancel();
}

// SIGSTOP is somebody else's business: the command stays stopped, and its lock held.
void run_session::on_stop() {
    const int number = job_.stop_signal();
    const bool for_terminal = number == SIGTTIN || number == SIGTTOU;
    if (number != SIGTSTP && !for_terminal) {
        return;
    }
    if (for_terminal && job_.may_have_terminal()) {
        job_.lend_terminal();
        job_.signal(SIGCONT);
        return;
    }
    if (in_danger_) {
        if (!for_terminal) {
            job_.signal(SIGCONT);
        }
        return;
    }
    job_.take_terminal();
    say("stopped; " + name_and_server() + " stays locked for " + short_time(hold_.remaining()) +
        " more; then the command is ended");
    job_.stands_still(true);
    const bool was_stopped = stop_self(number, true);
    if (was_stopped) {
        return;  // SIGCONT is there
    }
    job_.stands_still(false);
    if (for_terminal) {
        say("the command wants a terminal that it can't have; it stays stopped");
    } else {
        job_.lend_terminal();
        job_.signal(SIGCONT);
    }
}

}  // namespace conch::cli
