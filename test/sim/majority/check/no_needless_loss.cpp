// SPDX-License-Identifier: BSL-1.0
// A hold that is renewed, and has parts at all servers that nothing happens to, a majority, is not
// lost.
#include "sim/majority/simulation.hpp"

#include <set>

namespace conch::sim::majority {
namespace {

class no_needless_loss final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "no_needless_loss"; }

    void inspected() override {
        if (!applies()) {
            return;
        }
        std::set<impl::view_ptr> still;
        for (const held& h : all_.holds()) {
            const bool is_solid = solid_.contains(h.view) || has_the_spared(h);
            if (!is_solid || !*h.options.renew || h.options.max_hold != forever ||
                *h.options.lease < std::chrono::milliseconds{500}) {
                continue;
            }
            if (h.lost()) {
                violate("a hold is lost that the other servers have");
            } else {
                still.insert(h.view);
            }
        }
        solid_ = std::move(still);
    }

private:
    bool applies() const {
        const scenario& how = all_.how();
        return how.enough_are_sound() && !how.forces_all();
    }

    bool has_the_spared(const held& h) const {
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            if (all_.how().spares(i) && h.at->has(i) && (!h.part(i) || h.part(i)->lost != 0)) {
                return false;
            }
        }
        return !h.lost();
    }

    std::set<impl::view_ptr> solid_{};
};

}  // namespace

std::unique_ptr<checker> make_no_needless_loss(simulation& s) {
    return std::make_unique<no_needless_loss>(s);
}

}  // namespace conch::sim::majority
