// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_session.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace conch::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

lock_session::lock_session(const lock_plan& plan, std::string title,
                           const std::vector<int>& signals, std::string consequence)
    : session{plan, std::move(title), signals},
      plan_{plan},
      patience_{io_},
      consequence_{std::move(consequence)},
      lease_timer_{io_},
      others_{io_, plan.server, [this](log_level, std::string_view line) { detail(line); }},
      mutex_{others_.lock_of(redis_, plan.names, plan.kind)} {}

asio::awaitable<error_code> lock_session::acquire() {
    const time_point asked = clock::now();
    if (std::exchange(server_was_met_, true)) {
        co_return co_await acquire_since(asked);
    }
    const auto [contact_error, status] = co_await contact_.ask(mutex_);
    // Whatever else the server has to say, it says it of the lock too; but of a key that is no lock
    // a plain try says that it is taken.
    const duration left = plan_.lock.wait.value_or(forever) - (clock::now() - asked);
    if (stop_signal_ != 0 || contact_error == errc::wrong_type ||
        (contact_error == errc::not_connected && !is_waited_for(contact_error, left))) {
        co_return contact_error;
    }
    if (plan_.at_most > 0) {
        const error_code not_set = co_await set_permits();
        if (not_set || stop_signal_ != 0) {
            co_return not_set;
        }
    }
    nested_ = is_ours(status);
    if (nested_ && plan_.lock.wait != 0ns && !plan_.quiet) {
        say("warning: " + name_and_server() +
            " is held by the \"conch run\" that this one is part of, so it waits for itself");
    }
    if (status.locked && plan_.lock.wait != 0ns && !status.permits) {
        detail("waiting for " + in_quotes(plan_.name) + ", held by " + printable(status.holder));
    }
    co_return co_await acquire_since(asked);
}

asio::awaitable<error_code> lock_session::acquire_since(time_point asked) {
    lock_options terms = plan_.lock;
    if (terms.wait && *terms.wait != forever) {
        terms.wait = std::max<duration>(*terms.wait - (clock::now() - asked), 0ns);
    }
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    auto [ec, granted] = co_await mutex_.async_lock(terms, token);
    hold_ = std::move(granted);
    granted_at_ = clock::now();
    if (!ec) {
        const std::string fence = std::to_string(hold_.fence());
        detail("got " + in_quotes(plan_.name) + " after " + short_time(granted_at_ - asked) +
               ", owner " + redis_.id() + (plan_.kind.fenced ? ", fence " + fence : ""));
    }
    co_return ec;
}

asio::awaitable<error_code> lock_session::set_permits() {
    const semaphore permits{redis_, plan_.names.front()};
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec, is_new] = co_await permits.async_try_set_permits(plan_.at_most, token);
    if (ec || is_new) {
        co_return ec;
    }
    const auto [unknown, total] = co_await permits.async_total(token);
    if (!unknown && total != plan_.at_most) {
        throw command_error{exit_code::usage, "--at-most " + std::to_string(plan_.at_most) + ": " +
                                                  name_and_server() + " has " +
                                                  counted(total, "permit") + consequence_};
    }
    co_return unknown;
}

// The lock may wait for a server as long as its lease runs; who called this command need not.
asio::awaitable<void> lock_session::release(duration stays) {
    const bool leaves = stays > 0ns;
    const time_point end = hold_.valid_until();
    lose_patience();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    error_code ec;
    if (leaves) {
        std::tie(ec) = co_await hold_.async_leave(stays, token);
    } else {
        std::tie(ec) = co_await hold_.async_unlock(token);
    }
    be_patient();
    if (in_danger_ || loss_) {
        co_return;
    }
    if (!ec && leaves) {
        detail("left " + in_quotes(plan_.name) + " locked for " + short_time(stays) + " more");
    } else if (!ec) {
        detail("released " + in_quotes(plan_.name) + " after " +
               short_time(clock::now() - granted_at_));
    } else if (ec == errc::lock_lost || ec == errc::lost_in_failover) {
        report_loss(ec);
    } else {
        const duration left = std::max(end - clock::now(), duration{});
        say((leaves ? "that --at-least keeps " : "the release of ") + name_and_server() +
            " is not confirmed (" + reason_of(ec) +
            (leaves ? "); the lock may end" : "); the lock ends") + " with its lease, " +
            (left > 0ns ? "in " + short_time(left) + " or less" : "by now"));
    }
}

// A handler that was queued before the time was set anew comes even so: the time decides.
void lock_session::lose_patience() {
    out_of_patience_ = false;
    patience_.expires_after(plan_.server.first_answer);
    patience_.async_wait([this](error_code) {
        if (patience_.expiry() <= std::chrono::steady_clock::now()) {
            out_of_patience_ = true;
            give_up_.emit(asio::cancellation_type::terminal);
        }
    });
}

void lock_session::be_patient() {
    patience_.expires_at(std::chrono::steady_clock::time_point::max());
}

std::string lock_session::reason_of(error_code ec) const {
    if (out_of_patience_) {
        return "no answer";
    }
    const bool of_server = exit_status_for(ec) == exit_code::unavailable;
    const std::string words = of_server ? others_.last_server_error(redis_) : "";
    return ec.message() + (words.empty() ? "" : ": " + printable(words));
}

void lock_session::forget_hold() {
    hold_ = hold{};
    loss_ = {};
    in_danger_ = out_of_patience_ = false;
}

int lock_session::refused(error_code ec) {
    if (stop_signal_ != 0) {
        return exit_code::by_signal + stop_signal_;
    }
    if (ec == errc::timed_out) {
        const duration wait = plan_.lock.wait.value_or(forever);
        if (!plan_.quiet) {
            const bool limited = plan_.server.kind == lock_kind::semaphore;
            say(name_and_server() +
                (limited ? " has no permit left: all are held by " : " is held by ") +
                (nested_ ? "the \"conch run\" that this one is part of" : "someone else") +
                (wait > 0ns ? ", still after " + short_time(wait) : "") + consequence_);
        }
        return plan_.refused_status;
    }
    say("no lock " + in_quotes(plan_.name) + ": " +
        explain(ec, others_.last_server_error(redis_), server_label(plan_.server)));
    return exit_status_for(ec);
}

// $CONCH_NAME alone is no proof: what outlives a run inherits it too.
bool lock_session::is_ours(const lock_status& status) const {
    const char* const owner = std::getenv("CONCH_OWNER");
    return owner != nullptr && *owner != '\0' &&
           status.holder.find(std::string{owner} + ':') != std::string::npos;
}

// So that the command is dead by then.
duration lock_session::time_to_die() const noexcept {
    return std::min<duration>(plan_.longest_lease() / 40, 250ms);
}

// Naps are capped: the timer's clock stands still while the machine is suspended, the lease's does
// not; and the guardian is told of each renewal long before it would act.
asio::awaitable<void> lock_session::nap(duration longest) {
    const duration most = std::min<duration>(plan_.longest_lease() / 12, 1s);
    lease_timer_.expires_after(std::clamp<duration>(longest, 0ns, most));
    co_await lease_timer_.async_wait(as_result);
}

// The last lease ends at `max_hold` after the sending of the command that acquired, by the clock
// of the library; a little earlier than it looks from here.
bool lock_session::max_hold_is_near() const noexcept {
    const duration& most = plan_.lock.max_hold;
    if (most == forever) {
        return false;
    }
    const duration blur = std::max<duration>(plan_.longest_lease() / 20, 100ms);
    return hold_.valid_until() + blur >= granted_at_ + most;
}

}  // namespace conch::cli
