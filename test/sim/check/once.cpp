// SPDX-License-Identifier: BSL-1.0
// Each operation completes exactly once; and a wait ends when it shall, if nothing disturbs it: one
// for a deeper level at once. Whatever disturbs it, a client has the patience for an answer that it
// was told to have.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class once final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "once"; }

    void asks(const call& c) override {
        if (c.asks || c.forces || c.within) {
            open_.push_back(&c);
        }
    }

    void ended(const call& c) override {
        if (c.completions != 1) {
            violate("a call of user " + std::to_string(c.user) + " was completed " +
                    std::to_string(c.completions) + " times");
        }
    }

    void stepped() override {
        look_for_patience();
        if (!all_.settled()) {
            return;
        }
        for (const auto& u : all_.users()) {
            const instant until = u->wants_until();
            if (until >= 0 && all_.the_world().now() >
                                  std::max(until, all_.settled_at()) + all_.how().promptness()) {
                violate("user " + std::to_string(u->index()) + " waits for longer than it wanted");
            }
            const instant since = u->nests_since();
            if (since >= 0 && all_.the_world().now() >
                                  std::max(since, all_.settled_at()) + all_.how().promptness()) {
                violate("user " + std::to_string(u->index()) + " waits for itself");
            }
        }
    }

    void rested() override {
        for (const call& c : all_.calls()) {
            if (c.completions != 1 && !all_.clients()[c.client]->dead()) {
                violate("a call of user " + std::to_string(c.user) + " was completed " +
                        std::to_string(c.completions) + " times in the end");
                return;
            }
        }
    }

private:
    void look_for_patience() {
        std::erase_if(open_, [&](const call* c) {
            return c->completions != 0 || all_.clients()[c->client]->dead();
        });
        const instant now = all_.the_world().now();
        for (const call* c : open_) {
            const client_node& node = *all_.clients()[c->client];
            const duration passed = node.local_now() - node.local(c->asked_at);
            // One that was paused has the time for a turn.
            if (now > node.paused_until() + margin &&
                passed > all_.how().settings.operation_timeout + duration{margin}) {
                violate("a call of user " + std::to_string(c->user) + " isn't answered in time");
            }
        }
    }

    static constexpr instant margin = millis;
    std::vector<const call*> open_{};  // that wait for an answer, and for nobody else's release
};

}  // namespace

std::unique_ptr<checker> make_once(simulation& s) { return std::make_unique<once>(s); }

}  // namespace conch::sim
