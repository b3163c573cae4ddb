// SPDX-License-Identifier: BSL-1.0
// Writers that become readers.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {

void user::downgrade() {
    const held& h = *levels_.back();
    all_.the_world().note("downgrade", index_, h.number);
    waiting_for_ = &call_now();
    waiting_for_->downgrades = true;
    waiting_for_->asks =
        request{.name = h.name, .asked_at = all_.the_world().now(), .lease = {}, .of = h};
    node().turn([&] {
        all_.asks(*waiting_for_);
        node().engine().downgrade(h.view, {waiting_for_, &waiting_for_->running});
    });
    may_tire_of(*waiting_for_);
}

bool simulation::may_be_downgraded(const held& h) const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const call& c) {
        return c.downgrades && c.client == h.client && c.asks->of.number == h.number;
    });
}

instant simulation::downgraded_at(const held& h) const {
    const auto it = downgraded_.find({h.client, h.number});
    return it == downgraded_.end() ? -1 : it->second;
}

void simulation::note_downgrade(const script_run& r) {
    if (r.script == "shared_downgrade" && r.answer.what == reply::kind::integer &&
        r.answer.integer == 1) {
        const owner_of o = owner_in(std::string{r.args[1]});
        downgraded_.try_emplace({o.client, o.number}, r.at);
    }
}

}  // namespace conch::sim
