// SPDX-License-Identifier: BSL-1.0
// Whoever believes that it owns a lock is the one that the server has (one of them, where there are
// two masters), whether or not somebody else wants it.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class ownership final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "ownership"; }

    void turned(std::uint64_t client) override {
        client_node& node = *all_.clients()[client];
        for (const held& h : all_.holds()) {
            if (h.client == client && h.owns_lock(node.local_now()) && !all_.excused(h)) {
                look(h, all_.field_of(h));
            }
        }
    }

private:
    void look(const held& h, const std::string& field) {
        server_node& server = all_.server();
        const std::string key{all_.spec(h.name)->name()};
        const std::string deadline = timeout_key(key, field);
        const bool was_split = server.last_split(key) >= h.sent_at;
        const std::int64_t now = server.wall_clock();
        fake_redis& redis = server.redis();
        const bool has_it = was_split ? redis.anyone_has_field(key, field, now) &&
                                            (!h.shared || redis.anyone_has(deadline, now))
                                      : redis.has_field(key, field, now) &&
                                            (!h.shared || redis.exists(deadline, now));
        if (!has_it) {
            violate("user " + std::to_string(h.user) + " believes in lock " +
                    std::to_string(h.name) + " as " + field + ", which the server hasn't");
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_ownership(simulation& s) { return std::make_unique<ownership>(s); }

}  // namespace conch::sim
