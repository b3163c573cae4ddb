// SPDX-License-Identifier: BSL-1.0
// When the faults are over and a client is connected, no hold of it that is renewed is lost: not to
// a renewal that was given up, not to another key's trouble. Nor is one before that, where nothing
// happens but that keys go to another server, however long that takes.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class no_needless_loss final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "no_needless_loss"; }

    void turned(std::uint64_t client) override {
        connected_.resize(all_.clients().size());
        connection& c = connected_[client];
        const stats s = all_.clients()[client]->engine().counters();
        const instant now = all_.the_world().now();
        const bool calm = all_.healed() || all_.how().only_moves();
        if (s.connects != c.number || !calm || !all_.net().passes(client)) {
            c = {s.connects, s.connection_losses, now};
        }
        // One of several connections, until there is a new one.
        if (s.connection_losses != c.losses) {
            c.since = now;
        }
        for (held& h : all_.holds()) {
            const int lost = h.view->lost.load();
            if (h.client == client && lost != 0 && lost != static_cast<int>(errc::client_closed) &&
                !std::exchange(h.judged, true)) {
                judge(h, now - c.since);
            }
        }
    }

private:
    struct connection {
        std::uint64_t number = 0;
        std::uint64_t losses = 0;
        instant since = 0;  // without interruption
    };

    void judge(const held& h, instant connected) {
        const instant enough = 2 * all_.how().promptness();
        if (h.fell_silent || h.is_silent(all_.clients()[h.client]->local_now())) {
            return;  // a report may have come too late
        }
        if (h.renewed_lease.count() > 2 * enough && connected > enough && !all_.excused(h)) {
            const errc why = static_cast<errc>(h.view->lost.load());
            violate("user " + std::to_string(h.user) + " loses lock " + std::to_string(h.name) +
                    ": " + make_error_code(why).message());
        }
    }

    std::vector<connection> connected_{};
};

}  // namespace

std::unique_ptr<checker> make_no_needless_loss(simulation& s) {
    return std::make_unique<no_needless_loss>(s);
}

}  // namespace conch::sim
