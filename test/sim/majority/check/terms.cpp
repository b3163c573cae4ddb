// SPDX-License-Identifier: BSL-1.0
// A hold lasts no longer than it was asked for.
#include "sim/majority/simulation.hpp"

namespace conch::sim::majority {
namespace {

class terms final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "terms"; }

    void turned(process& p) override {
        for (const held& h : all_.holds()) {
            if (h.home == &p && h.believes()) {
                look(h);
            }
        }
    }

private:
    void look(const held& h) {
        const duration lasts = h.valid_until() - h.home->node(0).local(h.granted_at);
        if (h.options.max_hold != forever && lasts > h.options.max_hold + between_strands) {
            violate("a hold outlasts its max_hold");
        }
        if (!*h.options.renew && !h.extended && lasts > *h.options.lease) {
            violate("a hold outlasts its fixed lease");
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_terms(simulation& s) { return std::make_unique<terms>(s); }

}  // namespace conch::sim::majority
