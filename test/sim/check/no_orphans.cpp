// SPDX-License-Identifier: BSL-1.0
// An acquire ends owned or released: what the server has, the client knows of, and nobody else has.
// But for one that the server ran when its connection had been closed for a lease.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>

namespace conch::sim {
namespace {

class no_orphans final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "no_orphans"; }

    void stepped() override {
        server_node& server = all_.server();
        const instant now = all_.the_world().now();
        for (std::size_t i = 0; i < all_.how().names; ++i) {
            const auto fields = server.redis().fields(all_.spec(i)->name(), server.wall_clock());
            const bool readers = std::none_of(fields.begin(), fields.end(),
                                              [](const auto& f) { return f.ends_with(":write"); });
            if (fields.size() > 1 && !(all_.how().read_write && readers)) {
                violate("lock " + std::to_string(i) + " has " + std::to_string(fields.size()) +
                        " holders");
            }
            for (const std::string& f : fields) {
                // Where the clock was set since, a lease is longer than its client knows. That of a
                // reader may be the writer's that it was.
                const std::string holder = f.substr(0, f.find(":write"));
                if (!all_.how().has(fault::server_clock) ||
                    since_.emplace(holder, now).first->second > server.stepped_at()) {
                    look(i, f);
                }
            }
        }
    }

private:
    void look(std::size_t name, const std::string& field) {
        const auto [client, number] = simulation::owner_in(field);
        if (!all_.deserted(field) && !all_.clients()[client]->engine().tends(number) &&
            !all_.server().came_late(field) && !all_.server().brought_back(field) &&
            !all_.outlived_its_release(field) && field != told_ &&
            !all_.is_dead_reader(name, field) &&
            // The end of a place is a time of the clock.
            !(all_.how().fair && all_.how().has(fault::server_clock))) {
            told_ = field;
            violate("nobody will release " + field);
        }
    }

    std::map<std::string, instant> since_{};
    std::string told_{};
};

}  // namespace

std::unique_ptr<checker> make_no_orphans(simulation& s) { return std::make_unique<no_orphans>(s); }

}  // namespace conch::sim
