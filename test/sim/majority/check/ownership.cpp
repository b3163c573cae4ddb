// SPDX-License-Identifier: BSL-1.0
// Who may believe that it owns the lock has it on as many servers as it needs, and on each that it
// counts, unless that forgot it, or somebody took it away there; and a hold has no part that
// another has, or that was given back.
#include "sim/majority/simulation.hpp"

namespace conch::sim::majority {
namespace {

class ownership final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "ownership"; }

    void turned(process& p) override {
        for (const held& h : all_.holds()) {
            if (h.home == &p && h.believes()) {
                look(h);
            }
        }
    }

private:
    void look(const held& h) {
        std::size_t alive = 0;
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            const impl::view_ptr& part = h.part(i);
            if (!part) {
                continue;
            }
            if (part->asked.load() != impl::hold_request::none) {
                violate("a hold counts a part that was given back");
            }
            alive += h.counts(i) ? 1u : 0u;
            if (h.counts(i) && !is_there(h, i, *part) && !all_.may_lack(h, i)) {
                violate("a hold counts server " + std::to_string(i) + ", which has it not");
            }
            for (const held& other : all_.holds()) {
                if (&other != &h && other.name == h.name && other.part(i) == part) {
                    violate("two holds count the same part");
                }
            }
        }
        if (alive < h.at->needed()) {
            violate("a hold counts members that have lost it");
        }
    }

    bool is_there(const held& h, std::size_t i, impl::hold_view& part) {
        return all_.locks().has(h.name, i, h.home->field_of(i, part));
    }
};

}  // namespace

std::unique_ptr<checker> make_ownership(simulation& s) { return std::make_unique<ownership>(s); }

}  // namespace conch::sim::majority
