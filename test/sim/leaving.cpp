// SPDX-License-Identifier: BSL-1.0
// How a user leaves a lock: at once or waiting for the answer, one level or all, or for good.
#include "sim/simulation.hpp"
#include "sim/user.hpp"

namespace conch::sim {

void user::leave() {
    dice& chance = all_.the_world().chance;
    if (all_.how().has(fault::drop) && chance.once_in(2)) {
        effect& done = all_.attempt(fault::drop);
        const std::size_t level = chance.below(levels_.size());
        feel(lost(*levels_[level]) ? nullptr : &done);
        drop(level);
    } else if (chance.once_in(2)) {
        unlock();
        return;
    } else {
        drop(levels_.size() - 1);
    }
    plan(soon());
}

void user::drop(std::size_t level) {
    const auto h = levels_[level];
    const impl::view_ptr view = h->view;
    tempt_another();
    const bool detach = all_.how().detaching && all_.the_world().chance.once_in(8);
    all_.the_world().note(detach ? "detach" : "release", index_, h->number);
    view->asked.store(detach ? impl::hold_request::detach : impl::hold_request::release);
    if (detach) {
        all_.left_behind(*h);
    }
    levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(level));
    all_.gone(h);
    node().turn([&] {
        if (detach) {
            node().engine().detach(*view);
        } else {
            node().engine().release(*view);
        }
    });
}

void user::unlock() {
    const auto h = levels_.back();
    const impl::view_ptr view = h->view;
    all_.the_world().note("unlock", index_, h->number);
    tempt_another();
    view->asked.store(impl::hold_request::release);
    levels_.pop_back();
    waiting_for_ = &all_.begin_unlock(*h, !nested_);
    all_.gone(h);
    waiting_for_->reserved = true;
    node().turn([&] {
        all_.asks(*waiting_for_);
        node().engine().unlock(view, {waiting_for_, &waiting_for_->running});
    });
    if (all_.how().has(fault::cancel) && all_.the_world().chance.once_in(4) &&
        waiting_for_->running) {
        all_.attempt(fault::cancel).felt();
        waiting_for_->given_up = true;
        node().turn([&] { node().engine().cancel(*waiting_for_->running, given_up()); });
    } else {
        may_tire_of(*waiting_for_);
    }
}

}  // namespace conch::sim
