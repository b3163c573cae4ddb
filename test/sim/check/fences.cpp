// SPDX-License-Identifier: BSL-1.0
// A later acquisition has the greater fencing token, whatever the server lost: a resource that
// refuses older tokens is safe even where the lock isn't. Where another server has taken a master's
// place, or has it beside that, and has not heard of the older token, it has the time between the
// two to make up for what their clocks differ.
#include "sim/simulation.hpp"

#include <algorithm>
#include <cstdlib>

namespace conch::sim {
namespace {

class fences final : public checker {
public:
    explicit fences(simulation& s) : checker{s}, seen_(s.how().names) {}
    std::string_view name() const noexcept override { return "fences"; }
    bool of_one_holder() const noexcept override { return true; }

    void granted(const held& h) override {
        if (!all_.fenced(h.name)) {
            return;
        }
        const std::uint64_t token = h.view->fence;
        if (token == 0) {
            violate("user " + std::to_string(h.user) + " has no token");
            return;
        }
        std::vector<entry>& seen = seen_[h.name];
        const auto own = std::find_if(seen.begin(), seen.end(), [&](const entry& e) {
            return e.client == h.client && e.number == h.number;
        });
        if (own != seen.end()) {
            if (own->token != token) {
                violate("a deeper level has token " + std::to_string(token) + ", not " +
                        std::to_string(own->token));
            }
            return;
        }
        for (const entry& older : seen) {
            const bool before = older.granted_at < h.sent_at;
            if (!unheard_of(h, older) && !told_again(h, older) &&
                (older.token == token || (before && older.token > token))) {
                violate("token " + std::to_string(token) + " after " + std::to_string(older.token));
            }
        }
        seen.push_back({h.client, h.number, h.sent_at, h.granted_at, token});
    }

private:
    struct entry {
        std::uint64_t client;
        std::uint64_t number;
        instant sent_at;
        instant granted_at;
        std::uint64_t token;
    };

    /// A failover forgot the older one, and brought the field of an acquire back that had run
    /// before it; or that had run at another master. Its replay is told the token of then: the
    /// resource will refuse it, unless both masters gave theirs in the same microsecond.
    bool told_again(const held& h, const entry& older) const {
        return h.asked_at < older.granted_at && last_loss(h) >= older.granted_at;
    }

    /// By a server whose clock may have told no later time than that of the older one did. It may
    /// have granted at the first try, and have been heard at a later one.
    bool unheard_of(const held& h, const entry& older) const {
        const instant apart = std::abs(all_.how().replicas_ahead_us) * micros;
        return last_loss(h) >= older.sent_at && h.asked_at <= older.granted_at + apart;
    }

    /// Of the lock, or of its tokens alone, if it was free.
    instant last_loss(const held& h) const {
        const std::string tokens = all_.spec(h.name)->fence_key().text();
        return std::max({all_.last_loss(h.name), all_.last_loss(tokens), all_.last_loss(h)});
    }

    std::vector<std::vector<entry>> seen_;
};

}  // namespace

std::unique_ptr<checker> make_fences(simulation& s) { return std::make_unique<fences>(s); }

}  // namespace conch::sim
