// SPDX-License-Identifier: BSL-1.0
// When the faults are over, a free lock with a waiter is granted within two round trips and the
// turn of others: not after a poll, not after a lease.
#include "sim/simulation.hpp"

#include <algorithm>
#include <limits>

namespace conch::sim {
namespace {

class promptness final : public checker {
public:
    explicit promptness(simulation& s) : checker{s}, locks_(s.how().names) {}
    std::string_view name() const noexcept override { return "promptness"; }

    void stepped() override {
        for (std::size_t name = 0; name < locks_.size(); ++name) {
            look(name);
        }
    }

private:
    static constexpr instant for_ever = std::numeric_limits<instant>::max() / 2;

    struct lock {
        std::string holder{};     ///< the last one
        instant free_since = -1;  ///< and wanted
        bool seen = false;        ///< since all has settled
    };

    void look(std::size_t name) {
        server_node& server = all_.server();
        const std::string& key = all_.spec(name)->name();
        lock& l = locks_[name];
        const std::string* holder = server.redis().holder(key, server.wall_clock());
        if (holder && *holder != l.holder) {
            l.holder = *holder;
        }
        if (!all_.settled()) {
            return;
        }
        const bool there = holder || server.redis().exists(key, server.wall_clock());
        l.seen = l.seen || there;
        const bool wanted = !there && std::any_of(all_.users().begin(), all_.users().end(),
                                                  [&](const auto& u) { return u->wants(name); });
        // A stranger who takes a text away that took a hold's place tells nobody.
        if (!wanted || (all_.how().has(fault::vandal) && !l.seen)) {
            l.free_since = -1;
            return;
        }
        const instant now = all_.the_world().now();
        if (l.free_since < 0) {
            l.free_since = now;
        } else if (now - l.free_since > all_.how().promptness() &&
                   now - l.free_since > all_.how().promptness() + misled(l)) {
            violate("lock " + std::to_string(name) + " is free since " +
                    std::to_string((now - l.free_since) / micros) + " us, and wanted");
            l.free_since = -1;
        }
    }

    /// How much sooner its lease ended than its holder and those who wait were told. A release is
    /// told to all.
    instant misled(const lock& l) const {
        const auto& seen = all_.server().sightings(l.holder);
        const bool released = std::any_of(seen.begin(), seen.end(), [](const auto& s) {
            return s.what == server_node::sight::deleted;
        });
        return released                              ? 0
               : all_.persisted_at(l.holder) >= 0    ? for_ever
               : all_.how().has(fault::server_clock) ? all_.server().set_ahead()
                                                     : 0;
    }

    std::vector<lock> locks_;
};

}  // namespace

std::unique_ptr<checker> make_promptness(simulation& s) { return std::make_unique<promptness>(s); }

}  // namespace conch::sim
