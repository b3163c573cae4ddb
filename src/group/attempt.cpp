// SPDX-License-Identifier: BSL-1.0
#include "group/attempt.hpp"

#include "core/lock_terms.hpp"
#include "core/time.hpp"

#include <algorithm>
#include <utility>

namespace conch::group {
namespace {

// What is asked of each server.
lock_options for_members(const lock_options& o, const config& c) noexcept {
    return {.wait = duration::zero(),
            .lease = core::lease_of(o, c),
            .renew = core::renews(o, c),
            .max_hold = o.max_hold,
            .progress_within = o.progress_within};
}

time_point deadline_of(const lock_options& o, bool try_only, time_point now) noexcept {
    return core::after(now, o.wait.value_or(try_only ? duration::zero() : forever));
}

// It may answer next time.
bool passes(error_code ec) noexcept {
    return ec == errc::not_connected || ec == errc::server_unavailable;
}

}  // namespace

void attempt::start(context& ctx, const lock_options& options, bool try_only, void* tag,
                    std::uint64_t owner) {
    const auto self = std::make_shared<attempt>(ctx, options, try_only, tag);
    self->enter();
    const errc bad = owner != 0 ? errc::invalid_owner : core::check_options(options, ctx.settings);
    if (bad != errc{}) {
        self->end(bad);
    } else {
        self->begin_round(stage::first_round);
    }
}

attempt::attempt(context& ctx, const lock_options& options, bool try_only, void* tag)
    : task{ctx, tag},
      options_{for_members(options, ctx.settings)},
      try_only_{try_only},
      deadline_{deadline_of(options, try_only, ctx.now)},
      holding_{std::make_shared<holding>(ctx, options_)},
      answers_(ctx.size),
      votes_(ctx.size),
      pause_length_{ctx.how.pause},
      pause_{this, &attempt::on_pause} {}

attempt::~attempt() {
    withdraw_all();
    ctx().timers.cancel(pause_);
}

// In a settling round the attempt has the first server. Others give way to it, so it waits briefly
// for the rest. All other rounds ask once. The first round, and the one that settles it, have their
// time whatever `wait` is: else two tries that collide could both be refused a free lock.
void attempt::begin_round(stage s) {
    const bool given = s == stage::first_round || stage_ == stage::first_round;
    stage_ = s;
    const time_point now = ctx().now;
    if (in_reach_) {
        reached_ = now;
    }
    const duration limit = ctx().how.answer_timeout;
    const duration most = std::max(deadline_ - now, duration::zero());
    const duration left = given ? limit : std::min(most, limit);
    const duration settling = ctx().how.all ? ctx().jitter(ctx().how.settling) : limit;
    const duration wait = s == stage::settling ? std::min(left, settling) : duration::zero();
    in_full_ = left == limit;
    round_ends_ = core::after(now, limit);
    for (std::size_t i = 0; i < ctx().size; ++i) {
        if (holding_->has(i)) {
            answers_[i] = answer::granted;
        } else {
            answers_[i] = answer::pending;
            ask(i, wait, wait + left);
        }
    }
    look_at_answers();  // of one server, which it has
}

void attempt::ask(std::size_t member, duration wait, duration limit) {
    lock_options o = options_;
    o.wait = wait;
    votes_[member] = vote::ask(ctx(), member, o, limit, *this);
}

void attempt::answered(std::size_t member, error_code ec, impl::view_ptr hold) {
    const auto self = shared_from_this();
    votes_[member].reset();
    if (hold) {
        answers_[member] = answer::granted;
        holding_->put(member, std::move(hold));
    } else if (!ec || ec == errc::timed_out) {
        answers_[member] = answer::busy;
    } else {
        answers_[member] = passes(ec) ? answer::silent : answer::failed;
        why_ = ec;
    }
    if (stage_ != stage::in_line) {
        look_at_answers();
    } else if (out_of_time()) {
        end_in_time();
    } else {
        begin_round(answers_[member] == answer::granted ? stage::settling : stage::round);
    }
}

void attempt::look_at_answers() {
    // Where all are needed, one that is busy decides, whatever the others will say.
    const bool busy = ctx().how.all && first_busy(answers_) != ctx().size;
    const verdict v = busy ? verdict::busy : judge(answers_, ctx().how.needed);
    if (v == verdict::open || (v == verdict::busy && !busy && is_early())) {
        return;
    }
    if (v == verdict::granted && holding_->stands()) {
        ctx().timers.cancel(pause_);
        holding_->begin(votes_);
        complete({}, holding_->seen());
        return;
    }
    withdraw_all();
    // A server that had less than its time to answer has not shown that it is dead.
    if (v != verdict::unreachable || in_full_) {
        in_reach_ = v != verdict::unreachable;
    }
    if (v == verdict::failed) {
        end(why_);
    } else if (v == verdict::unreachable) {
        not_reached();
    } else {
        refused();
    }
}

// This attempt has no time for another round. It may still be the one that got the first server, if
// that server is slow to say so.
bool attempt::is_early() const noexcept {
    return stage_ == stage::first_round && deadline_ <= round_ends_ && first_is_open(answers_);
}

// An attempt that waits for others keeps nothing, but for one case: if it got the first server, it
// may try a little longer, as the others now wait for that one. Where all are needed, the first is
// the one in whose line it stood.
void attempt::refused() {
    const bool all = ctx().how.all;
    const std::size_t first = all ? first_busy(answers_) : first_to_answer(answers_);
    const bool has_first = !all && first != ctx().size && holding_->has(first);
    if (stage_ == stage::first_round && has_first) {
        begin_round(stage::settling);
    } else if (out_of_time()) {
        end_in_time();
    } else if (stage_ == stage::settling || first == ctx().size) {
        pause();
    } else if (has_first) {
        begin_round(stage::settling);
    } else {
        stand_in_line(first);
    }
}

void attempt::not_reached() {
    if (out_of_time()) {
        end_in_time();
    } else if (ctx().now - reached_ < ctx().settings.operation_timeout) {
        pause();
    } else {
        end(why_);
    }
}

void attempt::stand_in_line(std::size_t member) {
    give_back_all();
    stage_ = stage::in_line;
    const duration wait = std::min(ctx().jitter(ctx().how.line), deadline_ - ctx().now);
    ask(member, std::max(wait, duration::zero()), wait + ctx().how.answer_timeout);
}

void attempt::pause() {
    give_back_all();
    stage_ = stage::pausing;
    const time_point at = core::after(ctx().now, ctx().jitter(pause_length_));
    pause_length_ = std::min(2 * pause_length_, ctx().how.longest_pause);
    ctx().timers.set(pause_, std::min(at, deadline_));
}

void attempt::on_pause(void* self_) {
    auto& a = *static_cast<attempt*>(self_);
    const auto self = a.shared_from_this();
    if (a.out_of_time()) {
        a.end_in_time();
    } else {
        a.begin_round(stage::round);
    }
}

void attempt::withdraw_all() {
    for (vote::pointer& v : votes_) {
        if (v) {
            std::exchange(v, nullptr)->withdraw();
        }
    }
}

void attempt::give_back_all() {
    withdraw_all();
    holding_->give_back();
}

void attempt::end_in_time() {
    if (!in_reach_) {
        end(why_);
    } else {
        end(try_only_ ? error_code{} : errc::timed_out);
    }
}

void attempt::end(error_code ec) {
    const auto self = shared_from_this();
    ctx().timers.cancel(pause_);
    give_back_all();
    complete(ec);
}

}  // namespace conch::group
