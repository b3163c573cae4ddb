// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_ATTEMPT_HPP
#define CONCH_SRC_API_QUORUM_ATTEMPT_HPP

#include "api/quorum_core.hpp"
#include "api/quorum_holding.hpp"
#include "api/quorum_task.hpp"
#include "api/vote.hpp"

#include <conch/options.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace conch::impl {

/// One acquisition of a quorum's lock. In rounds: each server is asked at once, a majority is a
/// grant. After a refusal, all is released; then it stands in line at one server, and asks the
/// others when that is granted.
class quorum_attempt final : public quorum_task, private vote::asker {
public:
    static void start(const std::shared_ptr<quorum_core>& core, operation& op);
    quorum_attempt(std::shared_ptr<quorum_core> core, operation& op, const lock_options& options);
    ~quorum_attempt() override;

    void cancel() override;

private:
    enum class stage { first_round, round, settling, in_line, pausing };

    void answered(std::size_t member, error_code ec, hold h) override;
    void begin_round(stage s);
    void ask(std::size_t member, duration wait, duration limit);
    void look_at_answers();
    bool is_early() const noexcept;
    void refused();
    void not_reached();
    void stand_in_line(std::size_t member);
    void pause();
    void withdraw_all();
    void give_back_all();
    bool out_of_time() const noexcept { return clock::now() >= deadline_; }
    void end_in_time();
    void end(error_code ec);
    static void on_pause(void* self);

    const lock_options options_;
    const bool try_only_;
    const time_point deadline_;
    time_point reached_{};  // when the first of those rounds began that find no majority
    bool in_reach_ = true;  // a majority was, in the last round that was long enough to tell
    bool in_full_ = true;   // this one is
    time_point round_ends_{};
    stage stage_ = stage::first_round;
    error_code why_{};  // the last error of a server
    boost::intrusive_ptr<quorum_holding> holding_;
    std::vector<answer> answers_;
    std::vector<vote::pointer> votes_;
    core::timer pause_;
};

}  // namespace conch::impl

#endif
