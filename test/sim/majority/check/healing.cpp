// SPDX-License-Identifier: BSL-1.0
// A hold that lacks a server takes it once the lock is free there, when all has settled.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace conch::sim::majority {
namespace {

class healing final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "healing"; }

    void inspected() override {
        std::map<place, instant> still;
        if (all_.settled() && !all_.stopped()) {
            for (const held& h : all_.holds()) {
                look(h, still);
            }
        }
        since_ = std::move(still);
    }

private:
    using place = std::pair<impl::view_ptr, std::size_t>;

    void look(const held& h, std::map<place, instant>& still) {
        if (!h.believes() || !*h.options.renew || h.options.max_hold != forever) {
            return;
        }
        const instant now = all_.the_world().now();
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            if (h.part(i) || !h.at->has(i) || h.home->node(i).closing() ||
                all_.locks().taken(h.name, i)) {
                continue;
            }
            const auto seen = since_.find({h.view, i});
            const instant first = seen != since_.end() ? seen->second : now;
            // Each loss puts it off.
            const instant since =
                std::max({first, all_.others().last_taken(h.name), all_.others().known_by(h.name)});
            // Asked each third of the lease.
            if (now > since + h.lease.count() + 500 * millis + all_.how().answer_timeout.count()) {
                violate("a hold lacks server " + std::to_string(i) + ", where the lock is free");
            }
            still.emplace(place{h.view, i}, first);
        }
    }

    std::map<place, instant> since_{};  // when the lock was seen to be free there
};

}  // namespace

std::unique_ptr<checker> make_healing(simulation& s) { return std::make_unique<healing>(s); }

}  // namespace conch::sim::majority
