// SPDX-License-Identifier: BSL-1.0
// At most one hold of a name whose user may believe that it owns the lock, unless so many servers
// forgot one, or had it taken away from them, that the others are not enough.
#include "sim/majority/simulation.hpp"

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

    // Two majorities that both have what they were granted have a server in common, and its lock is
    // one's.
    bool excused(const held& a, const held& b) {
        return all_.intact(a) < a.at->needed() || all_.intact(b) < b.at->needed();
    }
};

}  // namespace

std::unique_ptr<checker> make_exclusion(simulation& s) { return std::make_unique<exclusion>(s); }

}  // namespace conch::sim::majority
