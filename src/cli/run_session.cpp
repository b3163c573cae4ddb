// SPDX-License-Identifier: BSL-1.0
#include "cli/run_session.hpp"

#include "cli/command_error.hpp"
#include "cli/exec.hpp"
#include "cli/text.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace conch::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// It passes by itself, once the server is back, or another in its place.
bool is_passing(error_code ec) noexcept {
    return ec == errc::not_connected || ec == errc::server_unavailable || ec == errc::read_only ||
           ec == errc::not_replicated;
}

std::string time_text(planned_time t) {
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(t).time_since_epoch() / 1s;
    std::tm utc{};
    char text[64];
    ::gmtime_r(&seconds, &utc);
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc)};
}

std::string name_of_signal(int number) {
    switch (number) {
        case SIGTERM: return "SIGTERM";
        case SIGINT: return "SIGINT";
        case SIGHUP: return "SIGHUP";
        case SIGQUIT: return "SIGQUIT";
        default: return "signal " + std::to_string(number);
    }
}

bool is_of_signal(int status) noexcept {
    return status > exit_code::by_signal && status <= exit_code::by_signal + SIGRTMAX;
}

/// Where `once` keeps its note.
std::string note_key(const std::string& name) {
    const bool has_tag = name.find('{') != std::string::npos;
    return has_tag ? "conch_done:" + name : "conch_done:{" + name + '}';
}

}  // namespace

// SIGTTOU, SIGTTIN and SIGPIPE are watched only to be blocked: a message of ours from the
// background, with `stty tostop`, or to a pipe that nobody reads any more would stop or end this
// process, and with it the renewals.
run_session::run_session(const run_plan& plan, progress_pipe* progress)
    : lock_session{plan, "conch run", signals_without_faults(), "; nothing was run"},
      run_plan_{plan},
      child_event_{io_, asio::steady_timer::time_point::max()},
      progress_{progress},
      reports_{io_} {
    if (plan.once) {
        once_.emplace(redis_, plan.name, *plan.once);
    }
}

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
    bool goes_on = true;
    while (goes_on) {
        co_await hold_once();
        goes_on = co_await campaigns_again();
    }
    phase_ = phase::releasing;
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    others_.shut_down();
    co_await redis_.async_shutdown(token);
    ignore_signals();
    if (hurried_) {
        io_.stop();  // what goes on in the background is not waited for
    }
}

asio::awaitable<void> run_session::hold_once() {
    const error_code ec = co_await acquire();
    const bool in_line = has_led_ && stop_signal_ == 0;
    goes_again_ = in_line && (is_passing(ec) || (!ec && !hold_.owns_lock()));
    if (goes_again_) {
        detail("no lead of " + name_and_server() + ": " +
               (ec ? ec.message() : "it was lost at once"));
    } else if (ec || stop_signal_ != 0) {
        exit_status_ = refused(ec);
    } else {
        const bool due = co_await is_due();
        if (due && hold_.owns_lock()) {
            start_command();
        } else if (due) {
            say("the lock " + name_and_server() + " was lost at once; nothing was run");
            exit_status_ = exit_code::lock_lost;
        }
        if (job_.running()) {
            ran_ = true;
            if (run_plan_.leads) {
                has_led_ = true;
                consequence_ = "; it led before";
            }
            co_await supervise();
            goes_again_ = has_led_ && told_to_end_;
        }
    }
    phase_ = phase::releasing;
    reports_.close();
    if (hold_) {
        const int noted = co_await note_run();
        const bool told_of_loss = noted != 0 && !hold_.owns_lock();
        if (!told_of_loss) {
            co_await release(stays());
        }
        exit_status_ = exit_status_ == 0 ? noted : exit_status_;
    }
}

asio::awaitable<bool> run_session::campaigns_again() {
    if (!goes_again_) {
        co_return false;
    }
    if (end_signal_ == 0) {
        phase_ = phase::waiting;
        forget_hold();
        at_max_hold_ = stood_still_ = ran_ = told_to_end_ = false;
        foreseen_ = {};
        co_await nap(100ms);
        end_signal_ = stop_signal_;
    }
    if (end_signal_ != 0) {
        exit_status_ = exit_code::by_signal + end_signal_;
    }
    co_return end_signal_ == 0;
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
        told_to_end_ = true;
        note_danger();
    }
    if (run_plan_.leads && (told_to_end_ || loss_ || !hold_.owns_lock())) {
        co_await end_rest();
    }
    job_.dismiss_guardian();
    exit_status_ = job_.status();
    if (job_.interrupted()) {
        end_signal_ = SIGINT;
    }
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

asio::awaitable<bool> run_session::is_due() {
    if (!once_) {
        co_return true;
    }
    lose_patience();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec, due] = co_await once_->async_due(hold_, came_, token);
    be_patient();
    const std::string run = "the run of " + time_text(due.planned);
    if (stop_signal_ != 0) {
        exit_status_ = exit_code::by_signal + stop_signal_;
    } else if (ec) {
        say("whether the run of " + name_and_server() + " is done can't be told (" +
            (ec == errc::wrong_type
                 ? "the key " + in_quotes(note_key(plan_.name)) + " holds something else"
                 : reason_of(ec)) +
            "); nothing was run");
        exit_status_ = out_of_patience() ? exit_code::unavailable : exit_status_for(ec);
    } else if (!due.done) {
        detail(run + " is due");
    } else if (!plan_.quiet) {
        say(run + " of " + name_and_server() + " is done, or a later one is; nothing was run");
    }
    planned_ = due.planned;
    co_return !ec && stop_signal_ == 0 && !due.done;
}

asio::awaitable<int> run_session::note_run() {
    const bool ended_itself = ran_ && !is_of_signal(job_.status()) && !loss_ && !in_danger_;
    if (!once_ || !ended_itself) {
        co_return 0;
    }
    const std::string run = "the run of " + time_text(planned_) + " of " + name_and_server();
    if (asked_to_end_ != 0) {
        say(run + " is not noted as done, as " + name_of_signal(asked_to_end_) +
            " came: it may be run again");
        co_return exit_code::by_signal + asked_to_end_;
    }
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec] = co_await once_->async_set_done(hold_, planned_, token);
    if (!ec) {
        co_return 0;
    }
    const std::string why =
        end_signal_ != 0 ? name_of_signal(end_signal_) + " came" : reason_of(ec);
    say("that " + run + " is done could not be noted (" + why + "): it may be run again");
    co_return end_signal_ != 0 ? exit_code::by_signal + end_signal_ : exit_status_for(ec);
}

// What could not be run is no reason for others not to run it.
duration run_session::stays() const noexcept {
    constexpr duration too_short = 10ms;
    const duration left = run_plan_.at_least - (clock::now() - granted_at_);
    return ran_ && left >= too_short ? left : 0ns;
}

void run_session::start_command() {
    const word_list& words = plan_.command;
    const std::string fence = plan_.kind.fenced ? std::to_string(hold_.fence()) : "";
    child_plan how{
        .program = words.front(),
        .words = words,
        .signal_mask = former_mask(),
        .ignores_children = ignored_children(),
        .variables = {
            {"CONCH_NAME", plan_.name}, {"CONCH_OWNER", redis_.id()}, {"CONCH_FENCE", fence}}};
    lease_end_ = hold_.valid_until();
    launched result;
    try {
        if (progress_ != nullptr) {
            reports_.assign(progress_->open_anew());
            start(watch_progress());
            how.kept_descriptor = progress_->for_command();
            how.variables["CONCH_PROGRESS_FD"] = std::to_string(how.kept_descriptor);
        }
        result = job_.start(how, {lease_end_, time_to_end(), time_to_die()}, run_plan_.leads);
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

void run_session::report_loss(error_code reason) {
    const std::string name = (run_plan_.leads ? "the lead of " : "the lock ") + name_and_server();
    std::string what;
    if (at_max_hold_ || reason == errc::max_hold_reached) {
        what = name + " was held for as long as --max-hold allows (" +
               short_time(plan_.lock.max_hold) + ')';
    } else {
        const bool silent = (reason ? reason : foreseen_) == errc::no_progress;
        const std::string why = stood_still_ ? "this process was stopped"
                                : silent     ? "the command reported no progress for " +
                                               short_time(plan_.lock.progress_within)
                                : reason ? reason.message()
                                         : "it can't be renewed";
        what = name + (reason ? " was lost (" : " was about to be lost (") + why +
               ") while the command ran";
    }
    say(what + "; the command ended with status " + std::to_string(exit_status_) +
        (run_plan_.leads && told_to_end_ && end_signal_ == 0 ? "; it campaigns again" : ""));
    exit_status_ = exit_code::lock_lost;
    interrupted_ = false;
}

}  // namespace conch::cli
