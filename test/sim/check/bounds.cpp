// SPDX-License-Identifier: BSL-1.0
// What a client keeps is bounded by what its users have asked for.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class bounds final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "bounds"; }

    void turned(std::uint64_t client) override {
        const client_node& c = *all_.clients()[client];
        const stats s = c.engine().counters();
        const std::uint64_t users = all_.how().users;
        limit(s.slots_now, all_.how().names, "slots");
        limit(s.subscriptions_now, all_.how().names, "subscriptions");
        limit(s.waiting_now, users + all_.how().askers, "waiters");
        limit(s.holds_now, 3 * users, "holds");
        // Given up, but the server may have it: each ends with its release, or one lease after its
        // connection.
        limit(c.engine().unsettled(), s.waiting_now + s.holds_now + 32 * users, "acquisitions");
    }

private:
    void limit(std::uint64_t n, std::uint64_t most, const char* what) {
        if (n > most) {
            violate(std::to_string(n) + " " + what + ", at most " + std::to_string(most));
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_bounds(simulation& s) { return std::make_unique<bounds>(s); }

}  // namespace conch::sim
