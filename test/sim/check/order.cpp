// SPDX-License-Identifier: BSL-1.0
// Who waits for a lock in one client gets it in the order of asking, to read or to write. Only the
// owner of a hold goes past others, to a deeper level of it.
#include "sim/simulation.hpp"

#include <set>
#include <utility>

namespace conch::sim {
namespace {

class order final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "order"; }
    bool of_one_queue() const noexcept override { return true; }

    void ended(const call& c) override {
        const bool again = c.view && !granted_.emplace(c.client, c.number).second;
        if (!c.view || (again && all_.how().nesting)) {
            return;
        }
        const user& by = *all_.users()[c.user];
        for (const auto& u : all_.users()) {
            const call* other = u->client() == by.client() ? u->queued_for(by.name()) : nullptr;
            if (other && other->place < c.place && waited(*other, c.ended_at)) {
                violate("user " + std::to_string(c.user) + " gets lock " +
                        std::to_string(by.name()) + " before user " + std::to_string(other->user) +
                        ", who asked earlier");
            }
        }
    }

private:
    static bool waited(const call& c, instant until) noexcept {
        return c.completions == 0 || c.ended_at > until;
    }

    std::set<std::pair<std::uint64_t, std::uint64_t>> granted_{};
};

}  // namespace

std::unique_ptr<checker> make_order(simulation& s) { return std::make_unique<order>(s); }

}  // namespace conch::sim
