// SPDX-License-Identifier: BSL-1.0
#include "cli/hold_session.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <vector>

namespace conch::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

int copy_of(int descriptor) noexcept { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

/// The input, opened anew where it can be: whoever has the same one keeps their way to read it.
int own_input() noexcept {
    const int own = ::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return own >= 0 ? own : copy_of(STDIN_FILENO);
}

enum class input { goes_on, is_over, belongs_to_another, is_none };

/// Reads and forgets what is there.
input read_input(int descriptor) noexcept {
    pollfd readable{descriptor, POLLIN, 0};
    if (::poll(&readable, 1, 0) <= 0) {
        return input::goes_on;  // somebody else has read it
    }
    char some[4096];
    const ssize_t n = ::read(descriptor, some, sizeof some);
    return n == 0                                       ? input::is_over
           : n > 0 || errno == EAGAIN || errno == EINTR ? input::goes_on
           : errno == EIO ? input::belongs_to_another  // the terminal, which is another's now
                          : input::is_none;
}

/// All that could end this process without a release. SIGTTIN, SIGTTOU and SIGPIPE are among them
/// only to be blocked: a message from the background, or to a pipe that nobody reads any more,
/// would stop or end it. SIGTSTP is to stop it; the others do nothing, or let it go on.
std::vector<int> signals_of_hold() {
    std::vector<int> all = signals_without_faults();
    std::erase_if(all, [](int number) {
        return number == SIGTSTP || number == SIGCONT || number == SIGCHLD || number == SIGURG ||
               number == SIGWINCH;
    });
    return all;
}

}  // namespace

hold_session::hold_session(const hold_plan& plan, const caller& whose, background* place)
    : lock_session{plan, "conch hold", signals_of_hold(), "; nothing is held"},
      caller_{whose},
      background_{place},
      kills_{plan.kills},
      caller_end_{io_, copy_of(whose.descriptor())},
      lifeline_{io_} {}

int hold_session::go() {
    run(conduct());
    finish_messages();
    return exit_status_;
}

asio::awaitable<void> hold_session::conduct() {
    start(watch_caller());
    start(background_ != nullptr ? watch_starter() : watch_input());
    const error_code ec = co_await acquire();
    if (ec || stop_signal_ != 0) {
        exit_status_ = refused(ec);
    } else if (!hold_.owns_lock()) {
        say("the lock " + name_and_server() + " was lost at once");
        exit_status_ = exit_code::lock_lost;
    } else {
        co_await keep();
    }
    phase_ = phase::releasing;
    if (hold_) {
        co_await release();
    }
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    others_.shut_down();
    co_await redis_.async_shutdown(token);
    ignore_signals();
    caller_end_.close();
    lifeline_.close();
}

asio::awaitable<void> hold_session::keep() {
    phase_ = phase::holding;
    lease_end_ = hold_.valid_until();
    try {
        guardian_.start({lease_end_, time_to_end(), time_to_die(), caller_.descriptor()});
    } catch (const command_error& e) {
        say(e.what());
        exit_status_ = e.exit_status();
        co_return;
    }
    *guardian_.group() = caller_.group();
    hold_.async_wait_lost([this](error_code ec) {
        if (ec && ec != asio::error::operation_aborted && phase_ == phase::holding) {
            loss_ = ec;
            lease_timer_.cancel();
        }
    });
    tell_held();
    while (!over_ && !loss_ && !guardian_.has_acted()) {
        note_lease();
        const duration left = hold_.remaining() - time_to_end();
        if (left <= 0ns) {
            break;
        }
        co_await nap(left);
    }
    if (!over_) {
        co_await warn_caller();
    }
    guardian_.dismiss();
}

// Who reads a line of it has the lock. In the background, the exit status says so.
void hold_session::tell_held() {
    const std::string fence = plan_.kind.fenced ? std::to_string(hold_.fence()) : "";
    if (background_ == nullptr) {
        std::cout << "held " << printable(plan_.name) << (fence.empty() ? "" : " ") << fence
                  << '\n';
    } else if (!fence.empty()) {
        std::cout << fence << '\n';
    }
    over_ = over_ || !std::cout.flush();
    if (background_ != nullptr && !over_) {
        over_ = !background_->let_go();
    }
}

// Once the hold is lost, what is left of its lease may be told no more.
void hold_session::note_lease() noexcept {
    if (hold_.owns_lock()) {
        lease_end_ = hold_.valid_until();
        guardian_.lease_ends(lease_end_);
    }
}

// The caller alone is not killed, and may go on for as long as it takes to end well: until then the
// lock is kept if it can be.
asio::awaitable<void> hold_session::warn_caller() {
    in_danger_ = true;
    exit_status_ = exit_code::lock_lost;
    const bool at_max_hold = !loss_ && max_hold_is_near();
    const bool held = !loss_ && hold_.owns_lock();
    const bool stood_still = guardian_.has_acted();
    guardian_.spare_term(true);
    if (!stood_still) {
        caller_.signal(SIGTERM);
        caller_.signal(SIGCONT);
    }
    say("the lock " + name_and_server() + (held ? " is about to be lost (" : " was lost (") +
        (stood_still   ? "this process was stopped"
         : at_max_hold ? "--max-hold is reached"
         : loss_       ? loss_.message()
                       : "it can't be renewed") +
        "): " + who_is_told());
    const duration left = lease_end_ - clock::now() - time_to_die();
    const time_point last =
        clock::now() + (held ? left : std::min({left, plan_.grace, longest_grace}));
    // A script may end before what it started. This process may be one of its group itself.
    const bool outside = background_ != nullptr || !caller_.beside();
    const auto goes_on = [&] { return kills_ && outside ? caller_.group_is_left() : !over_; };
    while (goes_on() && (kills_ ? clock::now() < last : hold_.owns_lock())) {
        co_await nap(kills_ ? std::min<duration>(last - clock::now(), 50ms) : 1s);
    }
    if (kills_ && outside) {
        caller_.kill_group();
    } else if (kills_) {
        caller_.signal(SIGKILL);
    }
}

std::string hold_session::who_is_told() const {
    return caller_.group() > 0 ? "killing process group " + std::to_string(caller_.group())
                               : "SIGTERM to process " + std::to_string(caller_.pid());
}

asio::awaitable<void> hold_session::watch_caller() {
    const auto [ec] =
        co_await caller_end_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    if (!ec) {
        nobody_is_left();
    }
}

// A file, /dev/null or a closed input has no end that could come.
asio::awaitable<void> hold_session::watch_input() {
    error_code failed;
    lifeline_.assign(own_input(), failed);
    input now = input::goes_on;
    while (!failed && now != input::is_none && now != input::is_over) {
        if (now == input::belongs_to_another) {
            asio::steady_timer pause{io_, 1s};
            co_await pause.async_wait(as_result);
        }
        const auto [ec] =
            co_await lifeline_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
        failed = ec;
        now = failed ? now : read_input(lifeline_.native_handle());
    }
    if (now == input::is_over) {
        nobody_is_left();
    }
}

asio::awaitable<void> hold_session::watch_starter() {
    lifeline_.assign(copy_of(background_->starter()));
    const auto [ec] =
        co_await lifeline_.async_wait(asio::posix::stream_descriptor::wait_error, as_result);
    if (!ec && phase_ == phase::waiting) {
        nobody_is_left();
    }
}

void hold_session::nobody_is_left() {
    if (phase_ == phase::waiting) {
        give_up(SIGHUP);
    } else {
        end_hold();
    }
}

void hold_session::give_up(int stop_signal) {
    stop_signal_ = stop_signal;
    contact_.cancel();
    give_up_.emit(asio::cancellation_type::terminal);
}

void hold_session::end_hold() {
    over_ = true;
    lease_timer_.cancel();
}

void hold_session::on_signal(const signalfd_siginfo& signal) {
    const auto number = static_cast<int>(signal.ssi_signo);
    const bool is_blocked = number == SIGTTIN || number == SIGTTOU || number == SIGPIPE;
    if (is_blocked || is_own_limit(signal) ||
        (background_ != nullptr && phase_ != phase::waiting)) {
        return;
    }
    switch (phase_) {
        case phase::waiting:
            interrupted_ = number == SIGINT && from_terminal(signal);
            give_up(number);
            break;
        case phase::holding:
            if (!(kills_ && in_danger_) && !is_for_caller(signal)) {
                exit_status_ = in_danger_ ? exit_status_ : exit_code::by_signal + number;
                interrupted_ = number == SIGINT && from_terminal(signal);
                end_hold();
            }
            break;
        case phase::releasing: give_up_.emit(asio::cancellation_type::terminal); break;
    }
}

// The lock is held for as long as the caller works, so it is for the caller to end by that. But a
// caller that lets this process read the terminal may wait for its end, as bash does after Ctrl-C.
bool hold_session::is_for_caller(const signalfd_siginfo& signal) const noexcept {
    const bool hangs_up = signal.ssi_signo == SIGHUP && signal.ssi_code == SI_KERNEL;
    return (from_terminal(signal) || hangs_up) && caller_.beside() && ::isatty(STDIN_FILENO) == 0 &&
           !process_has_ended(caller_.descriptor());
}

void hold_session::report_loss(error_code reason) {
    say("the lock " + name_and_server() + " was lost while it was held (" + reason.message() + ')');
    exit_status_ = exit_code::lock_lost;
    interrupted_ = false;
}

}  // namespace conch::cli
