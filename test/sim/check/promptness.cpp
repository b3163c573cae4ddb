// SPDX-License-Identifier: BSL-1.0
// When the faults are over, a free lock with a waiter is granted within two round trips and the
// turn of others: not after a poll, not after a lease.
#include "sim/simulation.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

class promptness final : public checker {
public:
    explicit promptness(simulation& s) : checker{s}, locks_(s.how().names) {}
    std::string_view name() const noexcept override { return "promptness"; }
    bool of_one_holder() const noexcept override { return true; }

    void stepped() override {
        for (std::size_t name = 0; name < locks_.size(); ++name) {
            look(name);
        }
    }

private:
    struct lock {
        std::string holder{};      ///< the last one
        bool held = false;         ///< by that
        bool handed_over = false;  ///< to that, by another of its client
        instant held_since = 0;    ///< by anybody, without a gap
        instant told_until = 0;    ///< no sooner than then, all who wait know that it went
        instant free_since = -1;   ///< and wanted
        bool seen = false;         ///< since all has settled
    };

    void look(std::size_t name) {
        server_node& server = all_.server();
        const std::string key{all_.spec(name)->name()};
        lock& l = locks_[name];
        const std::string* holder = server.redis().holder(key, server.wall_clock());
        if (holder && *holder != l.holder) {
            l.handed_over = l.held;
            l.held_since = l.held ? l.held_since : all_.the_world().now();
            l.holder = *holder;
        } else if (!holder && l.held && !released(l)) {
            l.told_until = std::max(l.told_until, all_.the_world().now() + misled(l));
        }
        if (all_.how().fair && (place_is_waited_for(name) || (holder && all_.deserted(*holder)))) {
            // Who was told how long the dead have their places asks now and then.
            l.told_until = all_.the_world().now() + all_.how().settings.max_poll_interval.count();
        }
        l.held = holder != nullptr;
        if (all_.settled()) {
            const bool there = holder || server.redis().exists(key, server.wall_clock());
            l.seen = l.seen || there;
            judge(name, !there && wanted(name));
        }
    }

    void judge(std::size_t name, bool vain) {
        lock& l = locks_[name];
        // A stranger who takes a text away that took a hold's place tells nobody.
        if (!vain || (all_.how().has(fault::vandal) && !l.seen)) {
            l.free_since = -1;
            return;
        }
        const instant now = all_.the_world().now();
        l.free_since = l.free_since < 0 ? now : l.free_since;
        if (now - std::max(l.free_since, l.told_until) > all_.how().promptness()) {
            violate("lock " + std::to_string(name) + " is free since " +
                    std::to_string((now - l.free_since) / micros) + " us, and wanted");
            l.free_since = -1;
        }
    }

    /// Somebody dead, or of Redisson, has a place in line, which is waited for.
    bool place_is_waited_for(std::size_t name) const {
        server_node& server = all_.server();
        const std::string_view key = all_.spec(name)->name();
        const auto line = server.redis().in_line(key, server.wall_clock());
        const auto scores = server.redis().line_scores(key, server.wall_clock());
        return std::any_of(line.begin(), line.end(),
                           [&](const auto& place) { return all_.deserted(place.first); }) ||
               std::any_of(scores.begin(), scores.end(), [&](const auto& place) {
                   return all_.is_foreign(place.first) &&
                          place.second > server.wall_clock() / 1000;
               });
    }

    bool wanted(std::size_t name) const {
        return std::any_of(all_.users().begin(), all_.users().end(),
                           [&](const auto& u) { return u->wants(name); });
    }

    /// In this step: then all were told. A failover may bring back what was released before.
    bool released(const lock& l) const {
        const auto& seen = all_.server().sightings(l.holder);
        const instant now = all_.the_world().now();
        return std::any_of(seen.rbegin(), seen.rend(), [&](const auto& s) {
            return s.what == server_node::sight::deleted && s.at == now;
        });
    }

    /// So much sooner than its holder and those who wait were told may its lease have ended. They
    /// ask now and then, where a stranger took it away, or its expiry, of which they were told
    /// none; and where it was handed over, as they know of the lease of the one before alone. Who
    /// waits for a fair lock may know only of the place that its holder had. A server's clock that
    /// is set back makes a TTL longer. Waiters are told that TTL. Then the holder lowers it, and
    /// tells nobody.
    instant misled(const lock& l) const {
        const bool unknown = l.handed_over || all_.how().fair || all_.persisted_at(l.holder) >= 0 ||
                             all_.was_deleted(l.holder);
        const bool grew = l.held_since <= all_.server().stepped_at();
        return std::max({unknown ? all_.how().settings.max_poll_interval.count() : 0,
                         all_.server().set_ahead(), grew ? all_.server().set_back() : 0});
    }

    std::vector<lock> locks_;
};

}  // namespace

std::unique_ptr<checker> make_promptness(simulation& s) { return std::make_unique<promptness>(s); }

}  // namespace conch::sim
