// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_attempt.hpp"

#include "core/time.hpp"
#include "engine/engine.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// The line may be at a server that dies, or whose holder has no majority.
constexpr duration shortest_line = std::chrono::milliseconds{500};
constexpr int answers_per_line = 10;

// What is asked of each server.
lock_options for_members(const lock_options& o, const config& c) noexcept {
    return {.wait = duration::zero(),
            .lease = o.lease.value_or(c.default_lease),
            .renew = o.renew.value_or(c.default_renew),
            .max_hold = o.max_hold};
}

time_point deadline_of(const lock_options& o, bool try_only) noexcept {
    return core::after(clock::now(), o.wait.value_or(try_only ? duration::zero() : forever));
}

// It may answer next time.
bool passes(error_code ec) noexcept {
    return ec == errc::not_connected || ec == errc::server_unavailable ||
           ec == asio::error::operation_aborted;
}

}  // namespace

void quorum_attempt::start(const std::shared_ptr<quorum_core>& core, operation& op) {
    const lock_options options = op.options.get();
    const auto self = std::make_shared<quorum_attempt>(core, op, options);
    core->add(self);
    const errc bad = op.options.owner() != 0 ? errc::invalid_owner
                                             : engine::check_options(options, core->settings());
    if (bad != errc{}) {
        self->end(bad);
    } else {
        self->begin_round(stage::first_round);
    }
}

quorum_attempt::quorum_attempt(std::shared_ptr<quorum_core> core, operation& op,
                               const lock_options& options)
    : quorum_task{core, op},
      options_{for_members(options, core->settings())},
      try_only_{&op.what == &request::try_lock},
      deadline_{deadline_of(options, try_only_)},
      holding_{new quorum_holding{*core, options_}},
      answers_(core->size()),
      votes_(core->size()),
      pause_{this, &quorum_attempt::on_pause} {}

quorum_attempt::~quorum_attempt() {
    withdraw_all();
    core().timers().cancel(pause_);
}

void quorum_attempt::cancel() { end(asio::error::operation_aborted); }

// Who settles has got the first server, where the others give way to it: it waits for them a
// little. All other rounds ask once. The first one, and what settles it, are given their time
// whatever `wait` is: nobody would be granted a lock that is free if all who only try were refused.
void quorum_attempt::begin_round(stage s) {
    const bool given = s == stage::first_round || stage_ == stage::first_round;
    stage_ = s;
    const time_point now = clock::now();
    if (in_reach_) {
        reached_ = now;
    }
    const duration limit = core().answer_timeout();
    const duration most = std::max(deadline_ - now, duration::zero());
    const duration left = given ? limit : std::min(most, limit);
    const duration wait = s == stage::settling ? left : duration::zero();
    in_full_ = left == limit;
    round_ends_ = core::after(now, limit);
    for (std::size_t i = 0; i < core().size(); ++i) {
        if (holding_->has(i)) {
            answers_[i] = answer::granted;
        } else {
            answers_[i] = answer::pending;
            ask(i, wait, wait + left);
        }
    }
    look_at_answers();  // of one server, which it has
}

void quorum_attempt::ask(std::size_t member, duration wait, duration limit) {
    lock_options o = options_;
    o.wait = wait;
    votes_[member] = vote::ask(core().shared_from_this(), member, o, limit, *this);
}

void quorum_attempt::answered(std::size_t member, error_code ec, hold h) {
    const auto self = shared_from_this();
    votes_[member].reset();
    if (h) {
        answers_[member] = answer::granted;
        holding_->put(member, std::move(h));
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

void quorum_attempt::look_at_answers() {
    const verdict v = judge(answers_);
    if (v == verdict::open || (v == verdict::busy && is_early())) {
        return;
    }
    if (v == verdict::granted && holding_->stands()) {
        core().timers().cancel(pause_);
        holding_->begin(votes_);
        complete({}, holding_);
        return;
    }
    withdraw_all();
    // Who had less than its time to answer has not shown that it is dead.
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

// Who has no time for more than this round may still be the one who has got the first server, if
// that is slow to say so.
bool quorum_attempt::is_early() const noexcept {
    return stage_ == stage::first_round && deadline_ <= round_ends_ && first_is_open(answers_);
}

// Nothing is kept while it waits for others, but for one thing: who has got the first server may
// try a little longer, as the others now wait for that one.
void quorum_attempt::refused() {
    const std::size_t first = first_to_answer(answers_);
    const bool has_first = first != core().size() && holding_->has(first);
    if (stage_ == stage::first_round && has_first) {
        begin_round(stage::settling);
    } else if (out_of_time()) {
        end_in_time();
    } else if (stage_ == stage::settling || first == core().size()) {
        pause();
    } else if (has_first) {
        begin_round(stage::settling);
    } else {
        stand_in_line(first);
    }
}

void quorum_attempt::not_reached() {
    if (out_of_time()) {
        end_in_time();
    } else if (clock::now() - reached_ < core().settings().operation_timeout) {
        pause();
    } else {
        end(why_);
    }
}

void quorum_attempt::stand_in_line(std::size_t member) {
    give_back_all();
    stage_ = stage::in_line;
    const duration most = std::max(shortest_line, answers_per_line * core().answer_timeout());
    const duration wait = std::min(core().jitter(most), deadline_ - clock::now());
    ask(member, std::max(wait, duration::zero()), wait + core().answer_timeout());
}

void quorum_attempt::pause() {
    give_back_all();
    stage_ = stage::pausing;
    const time_point at = core::after(clock::now(), core().jitter(2 * core().answer_timeout()));
    core().timers().set(pause_, std::min(at, deadline_));
}

void quorum_attempt::on_pause(void* self_) {
    auto& a = *static_cast<quorum_attempt*>(self_);
    const auto self = a.shared_from_this();
    if (a.out_of_time()) {
        a.end_in_time();
    } else {
        a.begin_round(stage::round);
    }
}

void quorum_attempt::withdraw_all() {
    for (vote::pointer& v : votes_) {
        if (v) {
            std::exchange(v, nullptr)->withdraw();
        }
    }
}

void quorum_attempt::give_back_all() {
    withdraw_all();
    holding_->give_back();
}

void quorum_attempt::end_in_time() {
    if (!in_reach_) {
        end(why_);
    } else {
        end(try_only_ ? error_code{} : errc::timed_out);
    }
}

void quorum_attempt::end(error_code ec) {
    const auto self = shared_from_this();
    core().timers().cancel(pause_);
    give_back_all();
    complete(ec);
}

}  // namespace conch::impl
