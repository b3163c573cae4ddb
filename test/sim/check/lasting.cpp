// SPDX-License-Identifier: BSL-1.0
// When all has settled, a lock whose expiry a stranger took away doesn't last for ever: a renewal
// gives it one again, and one that isn't renewed is gone with its hold. So it is with the deadline
// of a reader, and with what readers share as soon as there is only one.
#include "hold/acquisition.hpp"
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace conch::sim {
namespace {

class lasting final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "lasting"; }

    void stepped() override {
        if (!all_.settled() || !all_.how().has(fault::persist)) {
            return;
        }
        server_node& server = all_.server();
        for (std::size_t i = 0; i < all_.how().names; ++i) {
            const std::string lock{all_.spec(i)->name()};
            const auto fields = server.redis().fields(lock, server.wall_clock());
            // That of a dead reader alone stays until somebody wants to write.
            const bool is_of_one = fields.size() == 1 && !all_.is_dead_reader(i, fields.front());
            look(lock, is_of_one ? fields.front() : std::string{});
            for (std::size_t f = 0; all_.how().read_write && f < fields.size(); ++f) {
                look(timeout_key(lock, fields[f]), fields[f]);
            }
        }
    }

private:
    struct lock {
        std::string field{};     ///< who has it without an expiry; empty: nobody
        instant since = 0;       ///< when that was seen first
        instant left_since = 0;  ///< when its client didn't believe in it any more; -1: it does
    };

    /// This key, which ends with the lease of this one alone, if of any.
    void look(const std::string& key, const std::string& field) {
        server_node& server = all_.server();
        if (field.empty() || server.redis().left(key, server.wall_clock()) != -1) {
            locks_.erase(key);
            return;
        }
        lock& l = locks_[key];
        const instant now = all_.the_world().now();
        if (l.field != field) {
            l = {.field = field, .since = now, .left_since = -1};
        }
        if (const held* h = hold_of(l.field)) {
            l.left_since = -1;
            if (is_withheld(*h)) {  // a look alone doesn't see it
                l.since = now;
            }
            const instant third = lease_of(*h).count() / 3;
            if (third > 0 && now - l.since > third + third / 50 + all_.how().promptness()) {
                tell(l, "has no expiry, though it is renewed");
            }
        } else if (!all_.deserted(l.field) && !all_.outlived_its_release(l.field)) {
            l.left_since = l.left_since < 0 ? now : l.left_since;
            if (now - l.left_since > all_.how().promptness() + release_pause) {
                tell(l, "has no expiry, and nobody holds it");
            }
        }
    }

    /// An extension raises it for the renewals, too.
    static duration lease_of(const held& h) noexcept {
        const bool renewed = h.renewed_lease > duration::zero() && conch::lock::level_of(*h.view);
        return renewed ? std::max(h.renewed_lease, conch::lock::level_of(*h.view)->of->terms.lease)
                       : duration{};
    }

    bool is_withheld(const held& h) const noexcept {
        const conch::lock::level* const level = conch::lock::level_of(*h.view);
        return level && (level->of->is_withheld() ||
                         level->of->shows_no_progress(all_.clients()[h.client]->local_now()));
    }

    const held* hold_of(const std::string& field) const {
        const auto it = std::find_if(all_.holds().begin(), all_.holds().end(), [&](const held& h) {
            return h.owns_lock(all_.clients()[h.client]->local_now()) && all_.field_of(h) == field;
        });
        return it == all_.holds().end() ? nullptr : &*it;
    }

    void tell(const lock& l, std::string_view what) {
        if (told_ != l.field) {
            told_ = l.field;
            violate("the lock of " + l.field + " " + std::string{what});
        }
    }

    // One that was refused asks again after at most so long.
    static constexpr instant release_pause = 1100 * millis;

    std::map<std::string, lock> locks_{};  // by key
    std::string told_{};
};

}  // namespace

std::unique_ptr<checker> make_lasting(simulation& s) { return std::make_unique<lasting>(s); }

}  // namespace conch::sim
