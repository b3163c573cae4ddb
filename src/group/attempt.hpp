// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_ATTEMPT_HPP
#define CONCH_SRC_GROUP_ATTEMPT_HPP

#include "group/holding.hpp"
#include "group/task.hpp"
#include "group/vote.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace conch::group {

/// One acquisition of a group's lock. In rounds: each member is asked at once, enough of them are a
/// grant. After a refusal, all is released; then it stands in line at one member, and asks the
/// others when that is granted.
class attempt final : public task, private vote::asker {
public:
    /// `owner`: must be none.
    static void start(context& ctx, const lock_options& options, bool try_only, void* tag,
                      std::uint64_t owner);
    attempt(context& ctx, const lock_options& options, bool try_only, void* tag);
    ~attempt() override;

    void cancel(error_code why) override { end(why); }

private:
    enum class stage { first_round, round, settling, in_line, pausing };

    void answered(std::size_t member, error_code ec, impl::view_ptr hold) override;
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
    bool out_of_time() const noexcept { return ctx().now >= deadline_; }
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
    std::shared_ptr<holding> holding_;
    std::vector<answer> answers_;
    std::vector<vote::pointer> votes_;
    duration pause_length_;
    core::timer pause_;
};

}  // namespace conch::group

#endif
