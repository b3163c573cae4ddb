// SPDX-License-Identifier: BSL-1.0
#include "sim/counters/actor.hpp"

#include "sim/counters/stage.hpp"

#include <boost/system/errc.hpp>

namespace conch::sim::counters {

client_node& actor::node() noexcept { return *stage_.clients()[client_]; }

void actor::plan(instant when) { stage_.the_world().plan<&actor::act>(when, this, ++generation_); }

void actor::plan_soon() {
    const instant soon = chance_.spread(100 * micros, stage_.how().think);
    plan(stage_.rounded(stage_.the_world().now() + soon));
}

void actor::stop() {
    stopped_ = true;
    plan(stage_.the_world().now());
}

void actor::act(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || dead_ || node().closing()) {
        return;
    }
    if (!node().running()) {
        plan(node().put_off());
    } else if (asked_) {
        give_up(generation, 0);
    } else {
        choose();
    }
}

void actor::put(want& c, std::uint64_t what) {
    world& w = stage_.the_world();
    w.note("ask", client_, what * 100 + static_cast<std::uint64_t>(c.permits));
    node().turn([&] { send(c); });
    if (stage_.how().has(fault::cancel) && chance_.once_in(3)) {
        w.plan<&actor::give_up>(w.now() + chance_.spread(10 * micros, 1 * seconds), this,
                                generation_);
    }
}

void actor::give_up(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || dead_ || !asked_ || !asked_->running) {
        return;
    }
    if (!node().running()) {
        stage_.the_world().plan<&actor::give_up>(node().put_off(), this, generation);
        return;
    }
    stage_.the_world().note("give up", client_);
    node().turn([&] {
        if (asked_->running) {  // it may have ended as the turn began
            stage_.attempt(fault::cancel).felt();
            asked_->given_up = true;
            node().engine().cancel(*asked_->running, boost::system::errc::make_error_code(
                                                         boost::system::errc::operation_canceled));
        }
    });
}

}  // namespace conch::sim::counters
