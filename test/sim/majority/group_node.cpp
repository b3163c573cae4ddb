// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/group_node.hpp"

#include "sim/majority/process.hpp"
#include "sim/majority/simulation.hpp"
#include "sim/majority/user.hpp"

#include <algorithm>
#include <cstdlib>

namespace conch::sim::majority {
namespace {

/// As the real driver: suspend must be noticed.
constexpr duration longest_sleep = std::chrono::seconds{1};

}  // namespace

/// The simulation has one thread.
struct group_node::plain_view final : group::view {
    explicit plain_view(std::size_t n) : view{own_kind, n} {}

    static const kind own_kind;
};

const group::view::kind group_node::plain_view::own_kind{
    {.until = &group::view::until,
     .note_progress = &group::view::note_progress,
     .destroy = [](impl::composite_view& v) noexcept { delete static_cast<plain_view*>(&v); }},
    [](const view&) noexcept {},
    [](const view&) noexcept {},
};

group_node::group_node(process& home, std::size_t name, std::vector<std::size_t> places,
                       std::uint64_t seed)
    : home_{home},
      name_{name},
      places_{std::move(places)},
      needed_{home.all().how().all ? places_.size() : places_.size() / 2 + 1},
      group_{*this, places_.size(), home.settings(), home.all().how().terms_of(places_.size()),
             seed} {}

// No engine is asked any more.
group_node::~group_node() { group_.close(); }

void group_node::begin() {
    group_.begin_turn(home_.local_now());
    while (!answers_.empty()) {
        auto [id, r] = std::move(answers_.front());
        answers_.pop_front();
        group_.told(id, std::move(r));
    }
}

void group_node::end() {
    group_.end_turn();
    arm_timer();
    hand_out();
    home_.all().turned(home_);
}

void group_node::answered(std::uint64_t id, group::reply r) {
    answers_.emplace_back(id, std::move(r));
    if (!std::exchange(woken_, true)) {
        world& w = home_.all().the_world();
        const instant later = w.chance.once_in(4) ? w.chance.between(0, 3 * millis) : instant{0};
        w.plan<&group_node::wake>(w.now() + later, this);
    }
}

void group_node::wake(std::uint64_t, std::uint64_t) {
    if (home_.dead()) {
        return;
    }
    if (!home_.running()) {
        home_.all().the_world().plan<&group_node::wake>(home_.put_off(), this);
        return;
    }
    woken_ = false;
    turn([] {});
}

void group_node::go_on() {
    timer_at_ = -1;
    ++timer_generation_;
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        home_.all().the_world().plan<&group_node::run_handler>(home_.all().the_world().now(), this);
    }
    woken_ = false;
    turn([] {});
}

void group_node::arm_timer() {
    const time_point wanted = group_.next_deadline();
    if (wanted == core::never) {
        return;  // it looks again when it fires, if it is armed
    }
    const time_point now = home_.local_now();
    const instant at = home_.true_time(std::min(std::max(wanted, now), now + longest_sleep));
    if (timer_at_ >= 0 && timer_at_ <= at) {
        return;
    }
    timer_at_ = at;
    home_.all().the_world().plan<&group_node::on_timer>(at, this, ++timer_generation_);
}

void group_node::on_timer(std::uint64_t generation, std::uint64_t) {
    if (home_.dead() || generation != timer_generation_) {
        return;
    }
    if (!home_.running()) {
        timer_at_ = home_.put_off();
        home_.all().the_world().plan<&group_node::on_timer>(timer_at_, this, generation);
        return;
    }
    timer_at_ = -1;
    turn([] {});
}

void group_node::hand_out() {
    world& w = home_.all().the_world();
    for (lock::completion& c : group_.completions()) {
        call& of = *static_cast<call*>(c.tag);
        ++of.completions;
        of.ec = c.ec;
        of.view = std::move(c.view);
        of.said = c.said;
        home_.all().completed(of);
        ended_.push_back(&of);
        // The user's executor is busy now and then.
        const instant later = w.chance.once_in(8) ? w.chance.between(0, 5 * millis) : instant{0};
        w.plan<&group_node::run_handler>(w.now() + later, this);
    }
    group_.completions().clear();
}

void group_node::run_handler(std::uint64_t, std::uint64_t) {
    if (home_.dead() || ended_.empty()) {
        return;
    }
    if (!home_.running()) {
        home_.all().the_world().plan<&group_node::run_handler>(home_.put_off(), this);
        return;
    }
    call& c = *ended_.front();
    ended_.pop_front();
    home_.all().ended(c);
}

void group_node::try_lock(std::size_t member, std::uint64_t id, const lock_options& o) {
    question& q = home_.ask(*this, places_[member], id, question::kind::try_lock);
    q.options = o;
}

void group_node::unlock(std::size_t member, std::uint64_t id, const impl::view_ptr& hold) {
    hold->asked.store(impl::hold_request::release);
    home_.ask(*this, places_[member], id, question::kind::unlock).hold = hold;
}

void group_node::leave(std::size_t, std::uint64_t, const impl::view_ptr&, duration) {
    std::abort();  // no user does
}

void group_node::extend(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                        duration lease) {
    question& q = home_.ask(*this, places_[member], id, question::kind::extend);
    q.hold = hold;
    q.amount = lease;
}

void group_node::wait_lost(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                           duration before) {
    question& q = home_.ask(*this, places_[member], id, question::kind::wait_lost);
    q.hold = hold;
    q.amount = before;
}

void group_node::status(std::size_t member, std::uint64_t id, const status_options&) {
    home_.ask(*this, places_[member], id, question::kind::status);
}

void group_node::force_unlock(std::size_t member, std::uint64_t id) {
    home_.ask(*this, places_[member], id, question::kind::force);
}

void group_node::withdraw(std::uint64_t id) noexcept { home_.withdraw(*this, id); }

void group_node::release(std::size_t member, const impl::view_ptr& hold) noexcept {
    home_.give_up(places_[member], hold, impl::hold_request::release);
}

void group_node::detach(std::size_t member, const impl::view_ptr& hold) noexcept {
    home_.give_up(places_[member], hold, impl::hold_request::detach);
}

group::view* group_node::make_view() { return new plain_view{places_.size()}; }

}  // namespace conch::sim::majority
