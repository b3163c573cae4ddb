// SPDX-License-Identifier: BSL-1.0
// What is confirmed to be released is gone from a majority of the servers; what was taken away by
// force from a majority that answers is lost, unless its holder was getting a server back
// meanwhile.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace conch::sim::majority {
namespace {

class releases final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "releases"; }

    void asked(const call& c) override {
        for (std::size_t i = 0; c.what == call::kind::force && i < all_.how().places(); ++i) {
            for (const std::string& field : all_.locks().fields(c.name, i)) {
                had_[&c].push_back({c.name, i, field});
            }
        }
    }

    // Who lost it may have it again, by a try that was on its way.
    void turned(process&) override {
        for (auto& [of, all] : had_) {
            std::erase_if(all, [&](const holder& h) { return !is_there(h); });
        }
    }

    void completed(const call& c) override {
        if (c.what == call::kind::force) {
            look_at_force(c);
        }
        if (c.ec) {
            return;
        }
        // With others in its process, it may have been passed on.
        if (c.what == call::kind::unlock && all_.how().users == 1) {
            look_at_unlock(c);
        } else if (c.what == call::kind::force && all_.how().enough_are_sound() &&
                   c.asked_at > c.by->home().began_at() + 2 * seconds) {
            note_force(c);
        }
    }

    void inspected() override {
        const instant now = all_.the_world().now();
        for (const held& h : all_.holds()) {
            const auto it = doomed_.find(h.view);
            if (it == doomed_.end()) {
                continue;
            }
            const doom& d = it->second;
            if (now <= d.arrived && h.was_granted_since(d.asked_at)) {
                doomed_.erase(it);
            } else if (h.believes() && now > d.by) {
                violate("a hold outlives the force that took it away");
                doomed_.erase(it);
            }
        }
    }

private:
    struct holder {
        std::size_t name;
        std::size_t place;
        std::string field;
    };
    /// A hold that is to be lost.
    struct doom {
        instant asked_at;  ///< when the force began
        instant arrived;   ///< by then its holder has what a server granted during the force
        instant by;
    };

    void look_at_unlock(const call& c) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < c.fields.size(); ++i) {
            const bool known = !c.fields[i].empty() && !all_.locks().nameless(c.name, i);
            left += known && all_.locks().has(c.name, i, c.fields[i]) ? 1u : 0u;
        }
        if (left > c.at->places().size() - c.at->needed()) {
            violate("an unlock is confirmed, and the lock is on " + std::to_string(left) +
                    " servers");
        }
    }

    bool is_there(const holder& h) {
        return std::ranges::count(all_.locks().fields(h.name, h.place), h.field) > 0;
    }

    // Where a server has confirmed it, nobody has the lock any more who had it before.
    void look_at_force(const call& c) {
        std::size_t left = 0;
        for (const holder& h : had_[&c]) {
            left += c.at->has(h.place) && is_there(h) ? 1u : 0u;
        }
        had_.erase(&c);
        const bool answered = c.asked_at >= all_.settled_at() && all_.how().answers_in_time() &&
                              !c.by->home().is_closing() && !all_.how().crowded();
        const std::size_t most = answered ? 0 : c.at->places().size() - c.at->needed();
        if (!c.ec && left > most) {
            violate("a forced release is confirmed, and the lock is on " + std::to_string(left) +
                    " servers");
        }
    }

    // Each server is asked within a third of the lease whether it has the lock.
    void note_force(const call& c) {
        const instant now = all_.the_world().now();
        for (const held& h : all_.holds()) {
            if (h.at->meets(*c.at) && h.believes()) {
                doomed_.emplace(
                    h.view, doom{.asked_at = c.asked_at,
                                 .arrived = now + 4 * all_.how().net.worst_latency() + inspection,
                                 .by = now + h.lease.count() * 103 / 100 + 500 * millis});
            }
        }
    }

    std::map<impl::view_ptr, doom> doomed_{};
    /// Who had the lock when a force began, and where.
    std::map<const call*, std::vector<holder>> had_{};
};

}  // namespace

std::unique_ptr<checker> make_releases(simulation& s) { return std::make_unique<releases>(s); }

}  // namespace conch::sim::majority
