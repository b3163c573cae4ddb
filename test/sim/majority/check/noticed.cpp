// SPDX-License-Identifier: BSL-1.0
// When all has settled, a hold that is renewed finds out which servers have it no more, and counts
// them no longer; and a lock whose expiry a stranger took away is given one again, or is released.
// What is no lock is left as it is.
#include "hold/acquisition.hpp"
#include "hold/level.hpp"
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace conch::sim::majority {
namespace {

class noticed final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "noticed"; }

    void inspected() override {
        std::map<key, wait> still;
        if (all_.settled() && !all_.stopped()) {
            for (const held& h : all_.holds()) {
                look_at_losses(h, still);
            }
            look_at_expiries(still);
        }
        since_ = std::move(still);
        look_at_the_foreign();
    }

private:
    using key = std::pair<std::size_t, std::string>;  // a place, and a field, and what of it
    struct wait {
        instant since;  ///< when that was seen first
        instant time;   ///< that it had at most, whoever of its process had the lock meanwhile
    };

    void look_at_losses(const held& h, std::map<key, wait>& still) {
        if (!h.believes() || !*h.options.renew || h.options.max_hold != forever) {
            return;
        }
        for (const std::size_t i : h.at->places()) {
            const std::string field = h.counts(i) ? h.home->field_of(i, *h.part(i)) : "";
            const bool is_gone = !field.empty() && !all_.locks().nameless(h.name, i) &&
                                 !all_.locks().has(h.name, i, field);
            if (is_gone && lasts({i, field + " is gone"}, time_to_notice(h, i), still)) {
                violate("a hold counts server " + std::to_string(i) +
                        ", where it was taken away long ago");
            }
        }
    }

    /// Where something else is, a renewal is refused, which is no loss before the lease ends.
    instant time_to_notice(const held& h, std::size_t place) const {
        return all_.others().is_spoilt(h.name, place) ? lease_of(h, place) * 102 / 100
                                                      : third(h, place);
    }

    void look_at_the_foreign() {
        for (std::size_t name = 0; name < all_.how().names; ++name) {
            for (std::size_t place = 0; place < all_.how().places(); ++place) {
                const instant since = all_.others().spoilt_at(name, place);
                server_node& s = all_.server_of(place);
                const auto& key = all_.spec(name, place)->name();
                if (since >= 0 && !all_.forgot(place, name, since) &&
                    !s.redis().is_foreign(key, s.wall_clock())) {
                    violate(std::string{key} + " is a lock, where a stranger put something else");
                }
            }
        }
    }

    void look_at_expiries(std::map<key, wait>& still) {
        for (std::size_t name = 0; name < all_.how().names; ++name) {
            for (std::size_t place = 0; place < all_.how().places(); ++place) {
                const auto fields = all_.locks().fields(name, place);
                if (fields.empty() || all_.others().is_spoilt(name, place) ||
                    all_.locks().left(name, place) < forever.count() / 2) {
                    continue;
                }
                const std::string& field = fields.front();
                if (!all_.others().is_tended(place, field)) {
                    if (lasts({place, field + " is left"}, 0, still)) {
                        violate("the lock of " + field + " has no expiry, and nobody tends it");
                    }
                } else if (lasts({place, field}, time_for(name, place, field), still)) {
                    violate("the lock of " + field + " has no expiry");
                }
            }
        }
    }

    /// A hold that is not renewed is released at its end. So is what is nobody's hold any more.
    instant time_for(std::size_t name, std::size_t place, const std::string& field) const {
        for (const held& h : all_.holds()) {
            if (h.name == name && h.counts(place) && *h.options.renew &&
                h.options.max_hold == forever &&
                all_.locks().told_as(name, place, h.home->field_of(place, *h.part(place))) ==
                    field) {
                return third(h, place);
            }
        }
        return longest_extension * all_.how().longest_lease.count();
    }

    /// Who had it before in the same process may have asked for more.
    static instant lease_of(const held& h, std::size_t place) {
        const lock::level* const level = lock::level_of(*h.part(place));
        return std::max(h.lease, level ? level->of->terms.lease : duration{}).count();
    }
    static instant third(const held& h, std::size_t place) {
        return lease_of(h, place) / 3 + lease_of(h, place) / 50;
    }

    bool lasts(const key& k, instant time, std::map<key, wait>& still) {
        const auto seen = since_.find(k);
        wait w = seen != since_.end() ? seen->second : wait{all_.the_world().now(), 0};
        w.since = std::max(w.since, all_.others().persisted_at(k.second));
        w.time = std::max(w.time, time);
        still.emplace(k, w);
        return all_.the_world().now() > w.since + w.time + all_.how().promptness() + 50 * millis;
    }

    std::map<key, wait> since_{};
};

}  // namespace

std::unique_ptr<checker> make_noticed(simulation& s) { return std::make_unique<noticed>(s); }

}  // namespace conch::sim::majority
