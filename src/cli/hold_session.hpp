// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_HOLD_SESSION_HPP
#define CONCH_SRC_CLI_HOLD_SESSION_HPP

#include "cli/background.hpp"
#include "cli/caller.hpp"
#include "cli/guardian.hpp"
#include "cli/hold_plan.hpp"
#include "cli/lock_session.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <string>

namespace conch::cli {

/// One `conch hold`: acquires the lock, says so, and holds it until its input or its caller ends.
///
/// The caller gets SIGTERM a grace period before the hold would end, or at once when the server
/// says that it has; with --kill its whole process group gets it, and SIGKILL just before the end.
/// Where this process is stopped or killed, a guardian does it.
class hold_session final : public lock_session {
public:
    /// Throws `std::invalid_argument` for a bad lock name. `place`: where it runs; null: in the
    /// foreground.
    hold_session(const hold_plan& plan, const caller& whose, background* place);
    /// The exit status of `conch hold`.
    int go();

private:
    enum class phase { waiting, holding, releasing };

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<void> keep();
    boost::asio::awaitable<void> warn_caller();
    boost::asio::awaitable<void> watch_caller();
    boost::asio::awaitable<void> watch_input();
    boost::asio::awaitable<void> watch_starter();
    void on_signal(const signalfd_siginfo& signal) override;
    bool is_for_caller(const signalfd_siginfo& signal) const noexcept;
    void tell_held();
    void note_lease() noexcept;
    void nobody_is_left();
    void give_up(int stop_signal);
    void end_hold();
    void report_loss(error_code reason) override;
    std::string who_is_told() const;

    const caller& caller_;
    background* const background_;
    const bool kills_;
    boost::asio::posix::stream_descriptor caller_end_;
    boost::asio::posix::stream_descriptor lifeline_;  ///< the input, or to who started it (-b)
    guardian guardian_;

    phase phase_ = phase::waiting;
    time_point lease_end_{};  ///< as the hold said while it was held
    bool over_ = false;       ///< nothing more is to be held
    int exit_status_ = 0;
};

}  // namespace conch::cli

#endif
