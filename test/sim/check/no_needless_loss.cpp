// SPDX-License-Identifier: BSL-1.0
// Where nothing is wrong any more, a hold that is renewed is not lost: not to a renewal that was
// given up, not to another key's trouble.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class no_needless_loss final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "no_needless_loss"; }

    void turned(std::uint64_t client) override {
        if (!all_.settled()) {
            return;
        }
        for (const held& h : all_.holds()) {
            const int lost = h.view->lost.load();
            if (h.client == client && renews(h) && lost != 0 && !h.told && !seen(h) &&
                !all_.excused(h)) {
                seen_.push_back(h.view.get());
                violate("user " + std::to_string(h.user) + " loses lock " +
                        std::to_string(h.name) + ": " +
                        make_error_code(static_cast<errc>(lost)).message());
            }
        }
    }

private:
    // A hold that was lost before all had settled is known from then on.
    void stepped() override {
        if (!all_.settled()) {
            for (const held& h : all_.holds()) {
                if (h.view->lost.load() != 0 && !seen(h)) {
                    seen_.push_back(h.view.get());
                }
            }
        }
    }
    // A lease that is shorter than a round trip or two can't be renewed in time.
    bool renews(const held& h) const {
        return h.renewed_lease.count() > 4 * all_.how().promptness();
    }
    bool seen(const held& h) const {
        return std::find(seen_.begin(), seen_.end(), h.view.get()) != seen_.end();
    }

    std::vector<const void*> seen_{};
};

}  // namespace

std::unique_ptr<checker> make_no_needless_loss(simulation& s) {
    return std::make_unique<no_needless_loss>(s);
}

}  // namespace conch::sim
