// SPDX-License-Identifier: BSL-1.0
// At most one acquisition of a name whose user may believe that it owns the lock, or readers alone.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class exclusion final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "exclusion"; }

    void turned(std::uint64_t client) override {
        for (const held& mine : all_.holds()) {
            if (mine.client == client && believes(mine)) {
                compare(mine);
            }
        }
    }

private:
    bool believes(const held& h) const {
        return h.owns_lock(all_.clients()[h.client]->local_now()) && !all_.excused(h);
    }

    void compare(const held& mine) {
        for (const held& other : all_.holds()) {
            const bool same = other.user == mine.user && other.number == mine.number;
            if (!same && !(other.shared && mine.shared) && all_.same_key(other.name, mine.name) &&
                believes(other)) {
                violate("users " + std::to_string(mine.user) + " and " +
                        std::to_string(other.user) + " both own lock " + std::to_string(mine.name));
            }
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_exclusion(simulation& s) { return std::make_unique<exclusion>(s); }

}  // namespace conch::sim
