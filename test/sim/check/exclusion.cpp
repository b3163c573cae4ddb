// SPDX-License-Identifier: BSL-1.0
// At most one acquisition of a name whose user may believe that it owns the lock, or readers alone;
// where there are two masters at once, of each of them.
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
    bool one_data_set(const held& a, const held& b) const {
        return all_.server().share_data(all_.spec(a.name)->name(), all_.field_of(a),
                                        all_.field_of(b));
    }

    bool believes(const held& h) const {
        return h.owns_lock(all_.clients()[h.client]->local_now()) && !all_.loss_declared(h);
    }

    void compare(const held& mine) {
        for (const held& other : all_.holds()) {
            const bool same = other.user == mine.user && other.number == mine.number;
            if (!same && !(all_.reads(other) && all_.reads(mine)) &&
                all_.same_key(other.name, mine.name) && believes(other) &&
                one_data_set(mine, other)) {
                violate("users " + std::to_string(mine.user) + " and " +
                        std::to_string(other.user) + " both own lock " + std::to_string(mine.name));
            }
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_exclusion(simulation& s) { return std::make_unique<exclusion>(s); }

}  // namespace conch::sim
