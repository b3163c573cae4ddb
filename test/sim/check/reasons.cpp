// SPDX-License-Identifier: BSL-1.0
// The reason of a loss is what happened: `lock_lost` if the server missed it, else the end of the
// lease, at that end only, and by the cause of that.
#include "sim/simulation.hpp"

#include <algorithm>
#include <utility>

namespace conch::sim {
namespace {

class reasons final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "reasons"; }

    void turned(std::uint64_t client) override {
        for (held& h : all_.holds()) {
            const int lost = h.view->lost.load();
            if (h.client == client && lost != 0 && !std::exchange(h.explained, true)) {
                const auto why = static_cast<errc>(lost);
                if (const char* although = contradiction(h, why)) {
                    violate("user " + std::to_string(h.user) + " loses lock " +
                            std::to_string(h.name) + ": \"" + make_error_code(why).message() +
                            "\", " + although);
                }
            }
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    // Null if there is none.
    const char* contradiction(const held& h, errc why) const {
        const client_node& node = *all_.clients()[h.client];
        if (why == errc::lock_lost || why == errc::lost_in_failover) {
            // One that was started again is another one, and may say so.
            const bool replaced = all_.how().replaces_servers() || all_.how().has(fault::restart) ||
                                  all_.how().has(fault::restart_empty) ||
                                  all_.how().has(fault::failover);
            return !missed(h)                           ? "though the server never missed it"
                   : why == errc::lock_lost || replaced ? nullptr
                                                        : "though no server was replaced";
        }
        if (why == errc::client_closed) {
            return !node.closing()                       ? "though its client isn't closed"
                   : node.local_now() < node.drain_end() ? "before the end of the drain"
                                                         : nullptr;
        }
        if (node.local_now() < h.valid_until()) {
            return "before its end";
        }
        const bool bounded = h.max_hold != forever;
        const bool at_bound =
            bounded && h.valid_until() >= node.local(h.began_at) + h.max_hold - tolerance;
        if (why == errc::max_hold_reached) {
            return bounded ? nullptr : "though it has no bound";
        }
        if (at_bound) {
            return "at the end of max_hold";
        }
        if (why == errc::no_progress) {
            return h.is_silent(node.local_now()) ? nullptr : "though its holder reports some";
        }
        if (why == errc::renewal_refused) {
            return refused() ? nullptr : "though nobody refused";
        }
        return why == errc::lease_expired ? nullptr : "which can't be";
    }

    // When the faults are over only a stranger's text is still in the way.
    bool refused() const {
        return all_.how().mixes_types() || (all_.how().refuses() && !all_.settled());
    }

    bool missed(const held& h) const {
        const auto& seen = all_.server().sightings(all_.field_of(h));
        return std::any_of(seen.begin(), seen.end(), [&](const server_node::sighting& s) {
            // The field of a reader outlives its lease: whoever renews it then removes it.
            const bool over = s.what == server_node::sight::missing ||
                              (all_.reads(h) && s.what == server_node::sight::deleted);
            return over && s.client == h.client && s.at >= h.sent_at;
        });
    }
};

}  // namespace

std::unique_ptr<checker> make_reasons(simulation& s) { return std::make_unique<reasons>(s); }

}  // namespace conch::sim
