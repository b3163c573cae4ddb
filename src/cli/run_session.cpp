// SPDX-License-Identifier: BSL-1.0
#include "cli/run_session.hpp"

#include "cli/command_error.hpp"
#include "cli/exec.hpp"
#include "cli/text.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstdlib>

namespace conch::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// All that can be caught, but for those that tell of a fault in this process.
///
/// SIGTTOU, SIGTTIN and SIGPIPE are watched only to be blocked: a message of ours from the
/// background, with `stty tostop`, or to a pipe that nobody reads any more would stop or end this
/// process, and with it the renewals.
std::vector<int> signals_of_a_run() {
    std::vector<int> all;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        switch (number) {
            case SIGKILL:
            case SIGSTOP:
            case SIGABRT:
            case SIGBUS:
            case SIGFPE:
            case SIGILL:
            case SIGSEGV:
            case SIGSYS:
            case SIGTRAP: break;
            default:
                if (number < 32 || number >= SIGRTMIN) {  // between them are those of the C library
                    all.push_back(number);
                }
        }
    }
    return all;
}

}  // namespace

run_session::run_session(const run_plan& plan)
    : session{plan, "conch run", signals_of_a_run()},
      plan_{plan},
      child_event_{io_, asio::steady_timer::time_point::max()},
      patience_{io_},
      lease_timer_{io_},
      others_{io_, plan.server, [this](log_level, std::string_view line) { detail(line); }},
      mutex_{others_.lock_of(redis_, plan.names, plan.kind)} {}

int run_session::go() {
    try {
        run(conduct());
    } catch (...) {
        job_.signal(SIGKILL);  // nobody looks after its lock any more
        throw;
    }
    if (!hurried_) {
        finish_messages();
    }
    return exit_status_;
}

asio::awaitable<void> run_session::conduct() {
    const error_code ec = co_await acquire();
    if (ec || stop_signal_ != 0) {
        exit_status_ = refused(ec);
    } else if (!hold_.owns_lock()) {
        say("the lock " + name_and_server() + " was lost at once; nothing was run");
        exit_status_ = exit_code::lock_lost;
    } else {
        start_command();
        if (job_.running()) {
            co_await supervise();
        }
    }
    phase_ = phase::releasing;
    if (hold_) {
        co_await release();
    }
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    others_.shut_down();
    co_await redis_.async_shutdown(token);
    ignore_signals();
    if (hurried_) {
        io_.stop();  // what goes on in the background is not waited for
    }
}

asio::awaitable<error_code> run_session::acquire() {
    const time_point asked = clock::now();
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
        if (not_set) {
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
    lock_options terms = plan_.lock;
    if (terms.wait && *terms.wait != forever) {
        terms.wait = std::max<duration>(left, 0ns);
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

asio::awaitable<error_code> run_session::set_permits() {
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
                                                  std::to_string(total) +
                                                  " permits; nothing was run"};
    }
    co_return unknown;
}

asio::awaitable<void> run_session::supervise() {
    phase_ = phase::running;
    guarding_ = true;
    start(guard_lease());
    hold_.async_wait_lost([this](error_code ec) {
        if (ec && ec != asio::error::operation_aborted && phase_ == phase::running) {
            loss_ = ec;
            lease_timer_.cancel();
        }
    });
    while (job_.running() || guarding_) {
        co_await child_event_.async_wait(as_result);
    }
    if (job_.guardian_has_acted()) {
        note_danger();
    }
    job_.dismiss_guardian();
    exit_status_ = job_.status();
    interrupted_ =
        job_.interrupted() || (interrupted_ && exit_status_ == exit_code::by_signal + SIGINT);
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

// The lock may wait for a server as long as its lease runs; who called this command need not.
asio::awaitable<void> run_session::release() {
    const time_point end = hold_.valid_until();
    patience_.expires_after(plan_.server.first_answer);
    patience_.async_wait([this](error_code ec) {
        if (!ec) {
            out_of_patience_ = true;
            give_up_.emit(asio::cancellation_type::terminal);
        }
    });
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec] = co_await hold_.async_unlock(token);
    patience_.cancel();
    if (in_danger_ || loss_) {
        co_return;
    }
    if (!ec) {
        detail("released " + in_quotes(plan_.name) + " after " +
               short_time(clock::now() - granted_at_));
    } else if (ec == errc::lock_lost || ec == errc::lost_in_failover) {
        report_loss(ec);
    } else {
        const duration left = std::max(end - clock::now(), duration{});
        say("the release of " + name_and_server() + " is not confirmed (" +
            (out_of_patience_ ? "no answer" : ec.message()) +
            "); the lock ends with its lease, in " + short_time(left) + " or less");
    }
}

void run_session::start_command() {
    const word_list& words = plan_.command;
    const std::string fence = plan_.kind.fenced ? std::to_string(hold_.fence()) : "";
    const child_plan how{
        .program = words.front(),
        .words = words,
        .signal_mask = former_mask(),
        .ignores_children = ignored_children(),
        .variables = {
            {"CONCH_NAME", plan_.name}, {"CONCH_OWNER", redis_.id()}, {"CONCH_FENCE", fence}}};
    lease_end_ = hold_.valid_until();
    launched result;
    try {
        result = job_.start(how, {lease_end_, time_to_end(), time_to_die()});
    } catch (const command_error& e) {
        say(e.what());
        exit_status_ = e.exit_status();
        return;
    }
    if (result.error != 0) {
        const command_error why = exec_failure(words.front(), result.error);
        say(why.what());
        exit_status_ = why.exit_status();
    }
}

int run_session::refused(error_code ec) {
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
                (wait > 0ns ? ", still after " + short_time(wait) : "") + "; nothing was run");
        }
        return plan_.refused_status;
    }
    say("no lock " + in_quotes(plan_.name) + ": " +
        explain(ec, others_.last_server_error(redis_), server_label(plan_.server)));
    return exit_status_for(ec);
}

void run_session::report_loss(error_code reason) {
    const std::string name = "the lock " + name_and_server();
    std::string what;
    if (at_max_hold_ || reason == errc::max_hold_reached) {
        what = name + " was held for as long as --max-hold allows (" +
               short_time(plan_.lock.max_hold) + ')';
    } else {
        const std::string why = stood_still_ ? "this process was stopped"
                                : reason     ? reason.message()
                                             : "it can't be renewed";
        what = name + (reason ? " was lost (" : " was about to be lost (") + why +
               ") while the command ran";
    }
    say(what + "; the command ended with status " + std::to_string(exit_status_));
    exit_status_ = exit_code::lock_lost;
    interrupted_ = false;
}

// $CONCH_NAME alone is no proof: what outlives a run inherits it too.
bool run_session::is_ours(const lock_status& status) const {
    const char* const owner = std::getenv("CONCH_OWNER");
    return owner != nullptr && *owner != '\0' &&
           status.holder.find(std::string{owner} + ':') != std::string::npos;
}

}  // namespace conch::cli
