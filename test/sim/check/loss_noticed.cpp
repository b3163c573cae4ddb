// SPDX-License-Identifier: BSL-1.0
// Where the server is there and answers, or when the faults are over, a holder learns within a
// third of the lease that it doesn't have the lock any more, whether or not its lease is renewed.
#include "hold/acquisition.hpp"
#include "sim/simulation.hpp"

#include <map>
#include <utility>

namespace conch::sim {
namespace {

class loss_noticed final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "loss_noticed"; }

    void turned(std::uint64_t client) override {
        if (!all_.settled() && !answers_all_the_time()) {
            return;
        }
        client_node& node = *all_.clients()[client];
        for (const held& h : all_.holds()) {
            if (h.client == client && lock::level_of(*h.view) && h.owns_lock(node.local_now())) {
                look(h);
            }
        }
    }

private:
    bool answers_all_the_time() const {
        const scenario& how = all_.how();
        return !how.disconnects() && !how.refuses() && !how.is_slow() && !how.may_forget() &&
               !how.has(fault::migration) && !how.has(fault::crash) && !how.has(fault::no_kill);
    }

    void look(const held& h) {
        const std::pair key{h.client, h.number};
        if (!gone(h)) {
            missing_.erase(key);
            return;
        }
        const instant now = all_.the_world().now();
        const instant since = missing_.emplace(key, now).first->second;
        const instant third = lock::level_of(*h.view)->of->extended_by.count() / 3;
        if (now - since > third + third / 50 + all_.how().promptness()) {
            violate("user " + std::to_string(h.user) + " isn't told that lock " +
                    std::to_string(h.name) + " was taken away");
        }
    }

    // A text in its place says nothing about it. A reader without its deadline is none.
    bool gone(const held& h) {
        server_node& server = all_.server();
        const std::string lock{all_.spec(h.name)->name()};
        const std::string field = all_.field_of(h);
        const bool spoilt = server.redis().exists(lock, server.wall_clock()) &&
                            server.redis().fields(lock, server.wall_clock()).empty();
        return !spoilt && (!server.redis().has_field(lock, field, server.wall_clock()) ||
                           all_.is_dead_reader(h.name, field));
    }

    std::map<std::pair<std::uint64_t, std::uint64_t>, instant> missing_{};
};

}  // namespace

std::unique_ptr<checker> make_loss_noticed(simulation& s) {
    return std::make_unique<loss_noticed>(s);
}

}  // namespace conch::sim
