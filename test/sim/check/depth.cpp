// SPDX-License-Identifier: BSL-1.0
// The depth of a mutex that the server has is the number of levels that its holder has, when all
// has settled and the last change of it has had the time to arrive.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class depth final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "depth"; }
    bool of_one_holder() const noexcept override { return true; }

    void stepped() override {
        if (!all_.settled() || !all_.how().nesting) {
            return;
        }
        std::map<acquisition, const held*> looked_at;
        for (const held& h : all_.holds()) {
            const bool fresh = looked_at.emplace(acquisition{h.client, h.number}, &h).second;
            if (fresh && may_be_judged(h)) {
                look(h);
            }
        }
        // What ended is forgotten.
        std::erase_if(states_, [&](const auto& s) { return !looked_at.contains(s.first); });
    }

private:
    using acquisition = std::pair<std::uint64_t, std::uint64_t>;
    struct state {
        std::int64_t levels = 0;
        bool changed = false;  ///< since all has settled
        instant since = 0;     ///< when that number came to be, or its client had changes open last
    };

    /// One that was detached goes on to be counted at the server.
    bool may_be_judged(const held& h) const {
        const client_node& c = *all_.clients()[h.client];
        return !all_.how().locks[h.name].plain && c.running() && !c.closing() &&
               h.owns_lock(c.local_now()) && !all_.excused(h) &&
               h.sent_at > all_.server().last_split(all_.spec(h.name)->name()) &&
               !all_.was_left_behind(h.client, h.number);
    }

    void look(const held& h) {
        const client_node& c = *all_.clients()[h.client];
        const instant now = all_.the_world().now();
        const std::int64_t levels = std::count_if(
            all_.holds().begin(), all_.holds().end(),
            [&](const held& o) { return o.client == h.client && o.number == h.number; });
        state& s =
            states_.try_emplace({h.client, h.number}, state{levels, false, now}).first->second;
        if (s.levels != levels) {
            s = {levels, true, now};
        } else if (c.engine().belongings().level_changes > 0) {
            s.since = now;
        }
        const bool written = s.changed || h.asked_at >= all_.settled_at() || !may_be_stale();
        if (!written || now <= s.since + all_.how().promptness()) {
            return;
        }
        server_node& server = all_.server();
        const auto told =
            server.redis().depth(all_.spec(h.name)->name(), all_.field_of(h), server.wall_clock());
        if (told && *told != levels) {
            violate("the server counts " + std::to_string(*told) + " levels of " +
                    all_.field_of(h) + ", not " + std::to_string(levels));
        }
    }

    /// What was refused isn't written again before the next change; and an older copy of a change
    /// may have come last, with a connection that couldn't be ended.
    bool may_be_stale() const noexcept {
        const scenario& how = all_.how();
        return how.has(fault::read_only) || how.has(fault::out_of_memory) ||
               how.has(fault::no_permission) || how.has(fault::no_kill) || how.mixes_types();
    }

    std::map<acquisition, state> states_{};
};

}  // namespace

std::unique_ptr<checker> make_depth(simulation& s) { return std::make_unique<depth>(s); }

}  // namespace conch::sim
