// SPDX-License-Identifier: BSL-1.0
// In the end nothing is left: no key, no subscription, no renewal, no compensation, no state.
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class rest final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "rest"; }

    void rested() override {
        server_node& server = all_.server();
        for (std::size_t name = 0; name < all_.how().names; ++name) {
            const auto fields = server.redis().fields(all_.spec(name)->name(), server.wall_clock());
            const bool dead = !fields.empty() &&
                              std::all_of(fields.begin(), fields.end(), [&](const std::string& f) {
                                  return all_.is_dead_reader(name, f);
                              });
            if (!dead && server.redis().exists(all_.spec(name)->name(), server.wall_clock())) {
                violate("lock " + std::to_string(name) + " is still there");
            }
        }
        look_beside_the_locks();
        if (const std::size_t n = server.redis().subscribers(); n != 0) {
            violate(std::to_string(n) + " subscriptions are still there");
        }
        for (const auto& c : all_.clients()) {
            if (!c->dead()) {
                look(*c);
            }
        }
    }

private:
    /// What is left beside a read-write lock ends by itself, unless a stranger took that away.
    void look_beside_the_locks() {
        fake_redis& redis = all_.server().redis();
        const std::int64_t now = all_.server().wall_clock();
        for (std::size_t shard = 0; shard < redis.processes().shards(); ++shard) {
            for (const std::string& key : redis.keys_at(redis.processes().master(shard), now)) {
                if (is_beside_readers(key) && redis.left(key, now) == -1 && !was_persisted(key)) {
                    violate(key + " has no end");
                }
            }
        }
    }

    bool was_persisted(const std::string& key) const {
        const std::size_t from = key.find("}:") + 2;
        const std::size_t to = key.find(":rwlock_timeout:");
        return to != key.npos && all_.persisted_at(key.substr(from, to - from)) >= 0;
    }

    void look(const client_node& c) {
        const stats s = c.engine().counters();
        if (s.holds_now + s.waiting_now + s.slots_now + s.subscriptions_now != 0) {
            violate("client " + std::to_string(c.index()) + " has " + std::to_string(s.holds_now) +
                    " holds, " + std::to_string(s.waiting_now) + " waiters, " +
                    std::to_string(s.slots_now) + " slots, " + std::to_string(s.subscriptions_now) +
                    " subscriptions");
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_rest(simulation& s) { return std::make_unique<rest>(s); }

}  // namespace conch::sim
