// SPDX-License-Identifier: BSL-1.0
// How users give up what they asked for.
#include "sim/simulation.hpp"
#include "sim/user.hpp"

#include <boost/system/errc.hpp>

namespace conch::sim {

error_code user::given_up() noexcept {
    return boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
}

void user::break_line(std::uint64_t, std::uint64_t) {
    if (!node().dead() && !all_.healed()) {
        all_.the_world().note(name_of(fault::reset_after), client_);
        all_.net().reset(client_, true, &all_.attempt(fault::reset_after));
        world& w = all_.the_world();
        if (acquiring_ && all_.how().has(fault::cancel) && w.chance.once_in(2)) {
            // Between two connections.
            w.plan<&user::cancel>(w.now() + w.chance.spread(1 * millis, 50 * millis), this,
                                  ++generation_);
        }
    }
}

void user::cancel_soon() {
    world& w = all_.the_world();
    if (all_.how().has(fault::cancel) && w.chance.once_in(3)) {
        w.plan<&user::cancel>(w.now() + w.chance.spread(10 * micros, 1 * seconds), this,
                              ++generation_);
    }
}

void user::may_tire_of(call& c) {
    world& w = all_.the_world();
    if (all_.how().has(fault::cancel) && w.chance.once_in(4)) {
        w.plan<&user::tire_of>(w.now() + w.chance.spread(10 * micros, 1 * seconds), this, c.place);
    }
}

void user::tire_of(std::uint64_t number, std::uint64_t) {
    call& c = all_.call_at(number);
    if (node().dead() || !c.running) {
        return;
    }
    if (!node().running()) {
        all_.the_world().plan<&user::tire_of>(node().put_off(), this, number);
        return;
    }
    effect& done = all_.attempt(fault::cancel);
    all_.the_world().note("cancel", index_, number);
    node().turn([&] {
        if (c.running) {  // it may have ended as the turn began
            done.felt();
            c.given_up = true;
            node().engine().cancel(*c.running, given_up());
        }
    });
}

void user::cancel(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || node().dead() || !acquiring_) {
        return;
    }
    if (!node().running()) {
        all_.the_world().plan<&user::cancel>(node().put_off(), this, generation);
        return;
    }
    if (acquiring_->running) {
        effect& done = all_.attempt(fault::cancel);
        all_.the_world().note("cancel", index_);
        gave_up_ = true;
        node().turn([&] {
            if (acquiring_ && acquiring_->running) {
                done.felt();
                acquiring_->given_up = true;
                node().engine().cancel(*acquiring_->running, given_up());
            }
        });
    }
}

}  // namespace conch::sim
