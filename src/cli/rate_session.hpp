// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_RATE_SESSION_HPP
#define CONCH_SRC_CLI_RATE_SESSION_HPP

#include "cli/rate_plan.hpp"
#include "cli/session.hpp"

#include <optional>
#include <string>

namespace conch::cli {

/// The part of a `conch rate` before its command: asks for the permits, and waits for them if need
/// be. What was granted stays granted, so nothing is left to do when the command runs.
class rate_session final : public session {
public:
    /// Throws `std::invalid_argument` for a bad name.
    explicit rate_session(const rate_plan& plan);
    /// Nothing: the command is to be run. Else the exit status of `conch rate`. No thread and no
    /// connection is left; the signals stay blocked.
    std::optional<int> go();

private:
    using answer = first_contact::verdict;

    boost::asio::awaitable<void> conduct();
    boost::asio::awaitable<answer> ask();
    void on_signal(const signalfd_siginfo& signal) override;
    void judge(error_code ec, const rate_verdict& verdict);
    std::string why(error_code ec) const;
    std::string use(const rate_verdict& verdict) const;

    const rate_plan& plan_;
    rate_limiter limiter_;

    time_point asked_at_{};
    std::optional<int> exit_status_{};
    bool ending_ = false;
};

}  // namespace conch::cli

#endif
