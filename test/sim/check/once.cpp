// SPDX-License-Identifier: BSL-1.0
// Each operation completes exactly once; and a wait ends when it shall, if nothing disturbs it: one
// for a deeper level at once.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class once final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "once"; }

    void ended(const call& c) override {
        if (c.completions != 1) {
            violate("a call of user " + std::to_string(c.user) + " was completed " +
                    std::to_string(c.completions) + " times");
        }
    }

    void stepped() override {
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
};

}  // namespace

std::unique_ptr<checker> make_once(simulation& s) { return std::make_unique<once>(s); }

}  // namespace conch::sim
