// SPDX-License-Identifier: BSL-1.0
// A lock that is held all the time isn't told to be free; and an extension that is told to be made
// is made.
#include "core/time.hpp"
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class answers final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "answers"; }

    void ended(const call& c) override {
        if (!c.asks || c.ec || c.downgrades) {
            return;
        }
        if (c.asks->lease == duration::zero()) {
            judge_status(c);
        } else {
            judge_extension(c);
        }
    }

private:
    // A field that is there now was there since it was granted: only a failover brings one back.
    void judge_status(const call& c) {
        if (all_.last_loss(c.asks->name) >= c.asks->asked_at) {
            return;
        }
        server_node& server = all_.server();
        for (const held& h : all_.holds()) {
            const std::string field = all_.field_of(h);
            if (h.name != c.asks->name || h.granted_at >= c.asks->asked_at ||
                all_.downgraded_at(h) >= c.asks->asked_at ||
                !server.redis().has_field(all_.spec(h.name)->name(), field, server.wall_clock())) {
                continue;
            }
            // Readers are named with blanks between.
            if (!c.status.locked || (' ' + c.status.holder + ' ').find(' ' + field + ' ') ==
                                        std::string::npos) {
                violate("user " + std::to_string(c.user) + " is told that lock " +
                        std::to_string(h.name) + " is " +
                        (c.status.locked ? "held by " + c.status.holder : "free") +
                        ", not held by " + field);
            }
        }
    }

    void judge_extension(const call& c) {
        const held& h = c.asks->of;
        if (h.max_hold != forever) {
            return;
        }
        const time_point asked = all_.clients()[h.client]->local(c.asks->asked_at);
        if (h.valid_until() < core::lease_end(asked, c.asks->lease)) {
            violate("the extension of lock " + std::to_string(h.name) + " by user " +
                    std::to_string(c.user) + " wasn't made");
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_answers(simulation& s) { return std::make_unique<answers>(s); }

}  // namespace conch::sim
