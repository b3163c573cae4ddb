// SPDX-License-Identifier: BSL-1.0
// When the faults are over, a free lock with a waiter is granted within two round trips and the
// turn of others: not after a poll, not after a lease.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class promptness final : public checker {
public:
    explicit promptness(simulation& s)
        : checker{s}, free_since_(s.how().names, -1), seen_(s.how().names, false) {}
    std::string_view name() const noexcept override { return "promptness"; }

    void stepped() override {
        // A step of the server's clock ends a lease sooner than a waiter was told.
        if (!all_.settled() || all_.how().has(fault::server_clock)) {
            return;
        }
        for (std::size_t name = 0; name < free_since_.size(); ++name) {
            look(name);
        }
    }

private:
    void look(std::size_t name) {
        server_node& server = all_.server();
        const bool wanted = std::any_of(all_.users().begin(), all_.users().end(),
                                        [&](const auto& u) { return u->wants(name); });
        const bool there = server.redis().exists(all_.spec(name)->name(), server.wall_clock());
        seen_[name] = seen_[name] || there;
        // A stranger who takes a text away that took a hold's place tells nobody.
        if (!wanted || there || (all_.how().has(fault::vandal) && !seen_[name])) {
            free_since_[name] = -1;
            return;
        }
        const instant now = all_.the_world().now();
        if (free_since_[name] < 0) {
            free_since_[name] = now;
        } else if (now - free_since_[name] > all_.how().promptness()) {
            violate("lock " + std::to_string(name) + " is free since " +
                    std::to_string((now - free_since_[name]) / micros) + " us, and wanted");
            free_since_[name] = -1;
        }
    }

    std::vector<instant> free_since_;
    std::vector<bool> seen_;  // since all has settled
};

}  // namespace

std::unique_ptr<checker> make_promptness(simulation& s) { return std::make_unique<promptness>(s); }

}  // namespace conch::sim
