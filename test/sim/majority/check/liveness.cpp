// SPDX-License-Identifier: BSL-1.0
// When all has settled, a lock that somebody wants and nobody has is granted: contenders do not
// keep it from each other.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <vector>

namespace conch::sim::majority {
namespace {

class liveness final : public checker {
public:
    explicit liveness(simulation& s) : checker{s}, since_(s.how().names, -1) {}
    std::string_view name() const noexcept override { return "liveness"; }

    void inspected() override {
        const instant now = all_.the_world().now();
        for (std::size_t name = 0; name < since_.size(); ++name) {
            // Keys that nobody tends are over by then.
            if (now < all_.leases_end() || all_.stopped() || is_held(name) || !is_wanted(name)) {
                since_[name] = -1;
                continue;
            }
            since_[name] = since_[name] < 0 ? now : since_[name];
            // What is detached stays.
            const instant left = all_.how().detaching ? all_.leases_end() - all_.settled_at() : 0;
            if (now > since_[name] + all_.how().patience() + left) {
                violate("lock " + std::to_string(name) + " is free, and nobody gets it");
                since_[name] = -1;
            }
        }
    }

    void granted(const held& h) override { since_[h.name] = -1; }

private:
    bool is_held(std::size_t name) const {
        return std::any_of(all_.holds().begin(), all_.holds().end(),
                           [&](const held& h) { return h.name == name && h.believes(); });
    }

    bool is_wanted(std::size_t name) const {
        return std::any_of(all_.users().begin(), all_.users().end(), [&](const auto& u) {
            const call* const c = u->asks_now();
            return c && c->what == call::kind::acquire && c->name == name && c->completions == 0;
        });
    }

    std::vector<instant> since_;  // wanted and free; -1: it is not
};

}  // namespace

std::unique_ptr<checker> make_liveness(simulation& s) { return std::make_unique<liveness>(s); }

}  // namespace conch::sim::majority
