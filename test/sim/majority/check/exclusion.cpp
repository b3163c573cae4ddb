// SPDX-License-Identifier: BSL-1.0
// At most one hold of a name whose user may believe that it owns the lock, unless a server that
// both have a part of forgot the first.
#include "sim/majority/simulation.hpp"

#include <algorithm>

namespace conch::sim::majority {
namespace {

class exclusion final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "exclusion"; }

    void turned(process& p) override {
        for (const held& mine : all_.holds()) {
            if (mine.home == &p && mine.believes()) {
                compare(mine);
            }
        }
    }

private:
    void compare(const held& mine) {
        for (const held& other : all_.holds()) {
            if (&other != &mine && other.at->meets(*mine.at) && other.believes() &&
                !excused(mine, other)) {
                violate("two holds of lock " + std::to_string(mine.name));
            }
        }
    }

    bool excused(const held& a, const held& b) {
        const instant since = std::min(a.since(), b.since());
        if (all_.forced(a.name, since)) {
            return true;
        }
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            if (a.part(i) && b.part(i) && all_.forgot(i, a.name, since)) {
                return true;
            }
        }
        return false;
    }
};

}  // namespace

std::unique_ptr<checker> make_exclusion(simulation& s) { return std::make_unique<exclusion>(s); }

}  // namespace conch::sim::majority
