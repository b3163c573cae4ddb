// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RUN_SESSION_HPP
#define CONCH_SRC_CLI_RUN_SESSION_HPP

#include "cli/job.hpp"
#include "cli/lock_session.hpp"
#include "cli/progress_pipe.hpp"
#include "cli/run_plan.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace conch::cli {

/// One `conch run`: acquires the lock, runs the command under it, releases, tells the exit status.
///
/// The command never outlives the hold: its process group gets SIGTERM a grace period before the
/// hold would end (or at once when the server says that it has), SIGKILL just before the end. Where
/// this process is stopped or killed, a guardian does it. A command that ends by itself may leave
/// processes behind: these are not ended, as little as by a shell.
class run_session final : public lock_session {
public:
    /// `progress`: null where the command need not report any. Throws `std::invalid_argument` for a
    /// bad lock name.
    run_session(const run_plan& plan, progress_pipe* progress);
    /// The exit status of `conch run`.
    int go();

private:
    const run_plan& run_plan_;

    enum class phase { waiting, running, releasing };

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<void> hold_once();
    boost::asio::awaitable<bool> campaigns_again();
    boost::asio::awaitable<void> supervise();
    boost::asio::awaitable<void> guard_lease();
    void note_danger() noexcept;
    boost::asio::awaitable<void> end_command();
    boost::asio::awaitable<void> end_rest();
    boost::asio::awaitable<void> go_on();
    boost::asio::awaitable<void> watch_progress();
    void note_lease() noexcept;

    void on_signal(const signalfd_siginfo& signal) override;
    void on_signal_while_running(int number);
    void on_child();
    void on_stop();
    void start_command();
    /// For --once-per: whether the run that is due is still to be done, and can be. If not, says
    /// so, and sets the exit status.
    boost::asio::awaitable<bool> is_due();
    /// For --once-per: notes that the command came to its end by itself, under the lock. One that
    /// a signal ended is to be run again, here or on another host: also one that ended well when it
    /// was told to, and one whose shell tells of the signal. The exit status for a command that
    /// ended well: 0 if that was noted.
    boost::asio::awaitable<int> note_run();
    /// How long the lock stays after the command, for --at-least.
    duration stays() const noexcept;
    void report_loss(error_code reason) override;

    std::optional<once> once_;
    const time_point came_ = clock::now();
    planned_time planned_{};                 ///< of the run that it came for
    boost::asio::steady_timer child_event_;  ///< cancelled when something happened to the command
    job job_;
    progress_pipe* const progress_;
    boost::asio::posix::stream_descriptor reports_;  ///< of progress

    phase phase_ = phase::waiting;
    time_point lease_end_{};    ///< as the hold said while it was held
    error_code foreseen_{};     ///< what it was about to be lost for, when the command was ended
    bool at_max_hold_ = false;  ///< this was why the command was told to end
    bool stood_still_ = false;  ///< so long that the guardian ended the command
    bool guarding_ = false;     ///< `guard_lease()` runs
    bool going_on_ = false;     ///< `go_on()` runs
    bool hurried_ = false;      ///< a signal came while the lock was being released
    bool ran_ = false;          ///< the command was started
    bool told_to_end_ = false;  ///< the command, as the lock was lost or about to be
    int asked_to_end_ = 0;      ///< the signal by which this process was, while the command ran
    bool has_led_ = false;      ///< before, or now
    bool goes_again_ = false;   ///< it stands in line for the lead again
    int end_signal_ = 0;        ///< ends this process even if it would go on to campaign
    int exit_status_ = 0;
};

}  // namespace conch::cli

#endif
