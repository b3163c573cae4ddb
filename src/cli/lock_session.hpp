// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_LOCK_SESSION_HPP
#define CONCH_SRC_CLI_LOCK_SESSION_HPP

#include "cli/lock_plan.hpp"
#include "cli/quorum.hpp"
#include "cli/session.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace conch::cli {

/// What `conch run` and `conch hold` have in common: a lock is acquired, its lease is watched, and
/// it is released.
class lock_session : public session {
protected:
    /// What a process group gets to end in, at most, once its lock is gone already.
    static constexpr duration longest_grace = std::chrono::seconds{5};

    /// `consequence`: what a message of a refusal ends with. Throws `std::invalid_argument` for a
    /// bad lock name.
    lock_session(const lock_plan& plan, std::string title, const std::vector<int>& signals,
                 std::string consequence);
    ~lock_session() = default;

    boost::asio::awaitable<error_code> acquire();
    /// Of a loss, before the lock is acquired again.
    void forget_hold();
    /// Says why there is no lock, and tells the exit status for that.
    int refused(error_code ec);
    /// `stays`: so long the lock is left as it is, held by nobody.
    boost::asio::awaitable<void> release(duration stays = {});
    /// From now on gives up what the server is asked and does not answer in time.
    void lose_patience();
    /// Not any more.
    void be_patient();
    bool out_of_patience() const noexcept { return out_of_patience_; }
    /// Why what the server was asked failed, in its words if it has refused.
    std::string reason_of(error_code ec) const;
    /// The hold was lost, as it turned out for this reason.
    virtual void report_loss(error_code reason) = 0;

    /// Until then at most, or until `lease_timer_` is cancelled.
    boost::asio::awaitable<void> nap(duration longest);
    /// How long before the hold's end SIGKILL is sent, and SIGTERM.
    duration time_to_die() const noexcept;
    duration time_to_end() const noexcept { return std::max(plan_.grace, time_to_die()); }
    bool max_hold_is_near() const noexcept;

    const lock_plan& plan_;

private:
    boost::asio::awaitable<error_code> acquire_since(time_point asked);
    /// The semaphore has as many permits as --at-most says. Throws `command_error`.
    boost::asio::awaitable<error_code> set_permits();
    bool is_ours(const lock_status& status) const;

    boost::asio::steady_timer patience_;

protected:
    std::string consequence_;                ///< of a refusal
    boost::asio::steady_timer lease_timer_;  ///< cancelled when the guard has to look again
    other_clients others_;

private:
    mutex mutex_;

protected:
    hold hold_;
    time_point granted_at_{};
    int stop_signal_ = 0;     ///< what ended the waiting
    error_code loss_{};       ///< why the hold was lost, as the library told it
    bool in_danger_ = false;  ///< the end of the hold is near, and was told to whom it concerns

private:
    bool nested_ = false;  ///< the lock is held by the run that this one is part of
    bool out_of_patience_ = false;
    bool server_was_met_ = false;
};

}  // namespace conch::cli

#endif
