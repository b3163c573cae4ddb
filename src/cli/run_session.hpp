// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RUN_SESSION_HPP
#define CONCH_SRC_CLI_RUN_SESSION_HPP

#include "cli/job.hpp"
#include "cli/quorum.hpp"
#include "cli/run_plan.hpp"
#include "cli/session.hpp"

#include <boost/asio/steady_timer.hpp>

namespace conch::cli {

/// One `conch run`: acquires the lock, runs the command under it, releases, tells the exit status.
///
/// The command never outlives the hold: its process group gets SIGTERM a grace period before the
/// hold would end (or at once when the server says that it has), SIGKILL just before the end. Where
/// this process is stopped or killed, a guardian does it. A command that ends by itself may leave
/// processes behind: these are not ended, as little as by a shell.
class run_session final : public session {
public:
    /// Throws `std::invalid_argument` for a bad lock name.
    explicit run_session(const run_plan& plan);
    /// The exit status of `conch run`.
    int go();

private:
    enum class phase { waiting, running, releasing };

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<error_code> acquire();
    /// The semaphore has as many permits as --at-most says. Throws `command_error`.
    boost::asio::awaitable<error_code> set_permits();
    boost::asio::awaitable<void> supervise();
    boost::asio::awaitable<void> guard_lease();
    void note_danger() noexcept;
    boost::asio::awaitable<void> end_command();
    boost::asio::awaitable<void> go_on();
    boost::asio::awaitable<void> nap(duration longest);
    /// How long before the hold's end SIGKILL is sent, and SIGTERM.
    duration time_to_die() const noexcept;
    duration time_to_end() const noexcept { return std::max(plan_.grace, time_to_die()); }
    void note_lease() noexcept;
    boost::asio::awaitable<void> release();

    void on_signal(const signalfd_siginfo& signal) override;
    void on_signal_while_running(int number);
    void on_child();
    void on_stop();
    void start_command();
    int refused(error_code ec);
    bool is_ours(const lock_status& status) const;
    bool max_hold_is_near() const noexcept;
    void report_loss(error_code reason);

    const run_plan& plan_;
    boost::asio::steady_timer child_event_;  ///< cancelled when something happened to the command
    boost::asio::steady_timer patience_;     ///< with the release
    boost::asio::steady_timer lease_timer_;  ///< cancelled when the guard has to look again
    other_clients others_;
    mutex mutex_;
    hold hold_;
    job job_;

    phase phase_ = phase::waiting;
    time_point granted_at_{};
    time_point lease_end_{};    ///< as the hold said while it was held
    int stop_signal_ = 0;       ///< what ended the waiting
    error_code loss_{};         ///< why the hold was lost, as the library told it
    bool in_danger_ = false;    ///< the command was told to end because of the lease
    bool at_max_hold_ = false;  ///< and this was why
    bool stood_still_ = false;  ///< so long that the guardian ended the command
    bool guarding_ = false;     ///< `guard_lease()` runs
    bool going_on_ = false;     ///< `go_on()` runs
    bool nested_ = false;       ///< the lock is held by the run that this one is part of
    bool hurried_ = false;      ///< a signal came while the lock was being released
    bool out_of_patience_ = false;
    int exit_status_ = 0;
};

}  // namespace conch::cli

#endif
