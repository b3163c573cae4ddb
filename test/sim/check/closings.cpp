// SPDX-License-Identifier: BSL-1.0
// A client that is shut down ends every operation, admits none that takes a lock, and is done
// within the drain and the time for an answer, promptly where nothing disturbs it; what it had is
// released then, unless that was in vain; and it sends nothing any more.
#include "sim/simulation.hpp"

#include <algorithm>
#include <set>

namespace conch::sim {
namespace {

class closings final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "closings"; }

    void asks(const call& c) override {
        const client_node& node = *all_.clients()[c.client];
        if (node.closing() && (c.acquires || c.permits || c.forces)) {
            late_.insert(c.place);
        }
    }

    void ended(const call& c) override {
        if (late_.contains(c.place) && c.ec != errc::client_closed) {
            violate("client " + std::to_string(c.client) + " goes on with new work when it closes");
        }
    }

    void turned(std::uint64_t client) override {
        const client_node& node = *all_.clients()[client];
        if (node.local_now() >= node.drain_end()) {
            look_at_holds(node);
        }
        if (!node.closed()) {
            return;
        }
        if (node.wants_connection() || node.connected()) {
            tell(client, "is connected");
        }
        if (ended_.insert(client).second) {
            look_at_calls(client);
            look_at_keys(node);
        }
    }

    void stepped() override {
        for (const auto& c : all_.clients()) {
            if (c->closing() && !c->closed() && c->running()) {
                look_at_time(*c);
            }
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    void tell(std::uint64_t client, std::string_view what) {
        if (told_.insert(client).second) {
            violate("client " + std::to_string(client) + " " + std::string{what} +
                    " though it is closed");
        }
    }

    void look_at_holds(const client_node& node) {
        for (const held& h : all_.holds()) {
            if (h.client == node.index() && h.owns_lock(node.local_now())) {
                tell(node.index(), "keeps lock " + std::to_string(h.name) + " beyond its drain,");
            }
        }
    }

    void look_at_calls(std::uint64_t client) {
        for (const call& c : all_.calls()) {
            if (c.client == client && c.running) {
                tell(client, "still has an operation pending");
            }
        }
    }

    /// What it took needn't be gone where that couldn't be known or done; nor where the server's
    /// clock was set back, so that a lease is longer than its client knows.
    void look_at_keys(const client_node& node) {
        server_node& server = all_.server();
        if (!node.drained() || server.set_back() > 0) {
            return;
        }
        for (std::size_t name = 0; name < all_.how().names; ++name) {
            const std::string key{all_.spec(name)->name()};
            for (const std::string& f : server.redis().fields(key, server.wall_clock())) {
                const auto [client, number] = simulation::owner_in(f);
                if (client == node.index() && !all_.was_left_behind(client, number) &&
                    !server.came_late(f) && !server.brought_back(f) &&
                    !all_.outlived_its_release(f) && !all_.is_dead_reader(name, f)) {
                    tell(client, "left lock " + std::to_string(name));
                }
            }
        }
    }

    void look_at_time(const client_node& c) {
        const duration most = all_.how().settings.response_timeout;
        // Releases are repeated as long as an older copy of an acquire may still be run.
        const bool repeats = all_.how().mixes_types() || all_.how().has(fault::no_kill) ||
                             all_.how().replaces_servers();
        const bool quiet = c.closing_since() >= all_.settled_at() && !repeats;
        const duration late =
            quiet ? std::min<duration>(most, duration{all_.how().promptness()}) : most;
        if (c.local_now() > c.drain_end() + late + tolerance && told_.insert(c.index()).second) {
            violate("client " + std::to_string(c.index()) + " isn't closed in time");
        }
    }

    std::set<std::uint64_t> late_{};
    std::set<std::uint64_t> ended_{};
    std::set<std::uint64_t> told_{};
};

}  // namespace

std::unique_ptr<checker> make_closings(simulation& s) { return std::make_unique<closings>(s); }

}  // namespace conch::sim
