// SPDX-License-Identifier: BSL-1.0
// In the end nothing is left: no key, as soon as what was given back has reached its server; no
// subscription, no state in an engine or a group.
#include "sim/majority/simulation.hpp"

namespace conch::sim::majority {
namespace {

class rest final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "rest"; }

    // What is detached stays.
    void left() override {
        if (!all_.how().detaching) {
            look_at_keys(true);
        }
    }

    void rested() override {
        look_at_keys(false);
        for (std::size_t i = 0; i < all_.how().servers; ++i) {
            if (all_.server(i).redis().subscribers() != 0) {
                violate("subscriptions are still on server " + std::to_string(i));
            }
        }
        for (const auto& p : all_.processes()) {
            if (!p->dead()) {
                look(*p);
            }
        }
        for (const call& c : all_.calls()) {
            if (c.completions != 1 && !c.by->home().dead()) {
                violate("a call never ended: " + std::to_string(static_cast<int>(c.what)));
            }
        }
    }

private:
    void look_at_keys(bool now) {
        for (std::size_t i = 0; i < all_.how().servers; ++i) {
            server_node& s = all_.server(i);
            for (const std::string& key : s.redis().keys_at(0, s.wall_clock())) {
                if (!all_.locks().may_stay(i, key, now)) {
                    violate(key + " is still on server " + std::to_string(i));
                }
            }
        }
    }

    void look(const process& p) {
        for (std::size_t i = 0; i < all_.how().servers; ++i) {
            const stats s = p.node(i).engine().counters();
            if (s.holds_now + s.waiting_now + s.slots_now + s.subscriptions_now != 0 ||
                p.node(i).engine().unsettled() != 0) {
                violate("an engine has " + std::to_string(s.holds_now) + " holds, " +
                        std::to_string(s.waiting_now) + " waiters, " + std::to_string(s.slots_now) +
                        " slots");
            }
        }
        for (const auto& g : p.groups()) {
            const group::lock_group& of = g->group();
            if (of.open_tasks() + of.open_holds() + of.open_questions() != 0 ||
                of.next_deadline() != core::never) {
                violate("a group has " + std::to_string(of.open_tasks()) + " tasks, " +
                        std::to_string(of.open_holds()) + " holds, " +
                        std::to_string(of.open_questions()) + " questions, or a timer");
            }
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_rest(simulation& s) { return std::make_unique<rest>(s); }

}  // namespace conch::sim::majority
