// SPDX-License-Identifier: BSL-1.0
// What unlock tells is what the server saw: success only if the server removed this holder (or a
// level went and the rest is still there, or another user of this client has the lock now, which
// was good until then), `lock_lost` only if the server missed it, the end of the
// lease only at its end (and not at all where a server is there all the time, though keys go to
// another one), and the reason of a loss that was told before; and it tells in time.
#include "sim/simulation.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

namespace conch::sim {
namespace {

using sight = server_node::sight;

class verdicts final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "verdicts"; }

    void unlocks(const call& c) override {
        open_.push_back(&c);
        losses_.emplace(c.place, losses_of(c));
    }

    void turned(std::uint64_t client) override {
        std::erase_if(open_, [](const call* c) { return c->completions != 0; });
        for (const call* c : open_) {
            const held& h = c->unlocks->of;
            // What left a deeper level shares a deadline that moves on.
            if (h.client != client || !c->running || !c->unlocks->alone) {
                continue;
            }
            const client_node& node = *all_.clients()[client];
            if (node.local_now() >= h.valid_until()) {
                violate(of(*c) + " isn't answered at the end of the lease");
            } else if (node.local_now() - node.local(c->asked_at) >= patience()) {
                violate(of(*c) + " isn't answered after operation_timeout");
            }
        }
    }

    void ended(const call& c) override {
        if (!c.unlocks || c.ec == boost::system::errc::operation_canceled) {
            return;
        }
        const errc lost = static_cast<errc>(c.unlocks->of.view->lost.load());
        if (lost != errc{}) {
            if (c.ec != lost) {
                tells(c, "after the loss: " + make_error_code(lost).message());
            }
        } else if (!c.ec) {
            judge_success(c);
        } else {
            judge_failure(c);
        }
    }

private:
    static std::string of(const call& c) {
        return "the unlock of lock " + std::to_string(c.unlocks->of.name) + " by user " +
               std::to_string(c.user);
    }

    void tells(const call& c, std::string_view although) {
        violate(of(c) + " tells \"" + c.ec.message() + "\" " + std::string{although});
    }

    /// Its own client's commands saw its field so, since that time.
    bool seen(const call& c, sight what, instant since) const {
        return seen(all_.field_of(c.unlocks->of), c, what, since);
    }

    bool seen(const std::string& field, const call& c, sight what, instant since) const {
        const auto& all = all_.server().sightings(field);
        return std::any_of(all.begin(), all.end(), [&](const server_node::sighting& s) {
            return s.what == what && s.client == c.unlocks->of.client && s.at >= since;
        });
    }

    /// Under any of its fields: another master may not know of its downgrade.
    bool was_deleted(const call& c) const {
        const held& h = c.unlocks->of;
        return seen(c, sight::deleted, c.unlocks->asked_at) ||
               (all_.may_be_downgraded(h) &&
                seen(all_.reader_of(h) + ":write", c, sight::deleted, c.unlocks->asked_at));
    }

    std::uint64_t losses_of(const call& c) const {
        return all_.clients()[c.client]->engine().counters().connection_losses;
    }

    /// On a new connection; or, where its part of a cluster went meanwhile, on one that was there.
    bool may_have_gone_again(const call& c) const {
        return c.connects != c.unlocks->connects ||
               (all_.how().run_as == deployment::cluster && losses_of(c) != losses_.at(c.place));
    }

    bool was_good(const call& c) const {
        const held& h = c.unlocks->of;
        return all_.clients()[h.client]->local(c.ended_at) < h.valid_until();
    }

    void judge_success(const call& c) {
        const unlocking& u = *c.unlocks;
        if (was_deleted(c) ||
            (was_good(c) && all_.passed_on(u.of, c.ended_at))) {
            return;
        }
        if (all_.was_joined(u.of)) {
            return;
        }
        if (!u.alone) {
            const bool more = std::any_of(
                all_.holds().begin(), all_.holds().end(),
                [&](const held& h) { return h.client == u.of.client && h.number == u.of.number; });
            if (more && !seen(c, sight::there, u.asked_at)) {
                tells(c, "though the server wasn't asked for what remains");
            }
            return;
        }
        // A first copy that was lost may have done it, as long as nobody else may; or is to do it
        // at a master that another one has replaced.
        const bool declared = all_.excused(u.of) ||
                              all_.server().last_split(all_.spec(u.of.name)->name()) >= u.asked_at;
        if (!may_have_gone_again(c) || !declared) {
            tells(c, "though the server didn't release it");
        }
    }

    void judge_failure(const call& c) {
        const unlocking& u = *c.unlocks;
        if (c.ec == errc::lock_lost || c.ec == errc::lost_in_failover) {
            if (!seen(c, sight::missing, u.alone ? u.asked_at : u.of.sent_at)) {
                tells(c, "though the server never missed it");
            } else if (seen(c, sight::deleted, u.asked_at) && !all_.endangered(u.of)) {
                tells(c, "though it was this that released it");
            }
        } else if (at_the_end(c)) {
            const client_node& node = *all_.clients()[u.of.client];
            if (node.local(c.ended_at) < u.of.valid_until()) {
                tells(c, "before the lease's end");
            } else if (all_.how().only_moves() &&
                       c.ended_at - u.asked_at > all_.how().promptness()) {
                tells(c, "though nothing kept the server from releasing it");
            }
        } else if (!server_may_say(c)) {
            tells(c, "which nobody said");
        }
    }

    static bool at_the_end(const call& c) noexcept {
        return c.ec == errc::lease_expired ||
               (!c.unlocks->alone &&
                (c.ec == errc::max_hold_reached || c.ec == errc::renewal_refused ||
                 c.ec == errc::no_progress));
    }

    bool closed(const call& c) const noexcept {
        const client_node& node = *all_.clients()[c.client];
        return node.local(c.ended_at) >= node.drain_end();
    }

    duration patience() const noexcept { return all_.how().settings.operation_timeout; }

    /// The server wasn't there, or said all the time that it can't.
    bool patience_is_over(const call& c) const {
        const client_node& node = *all_.clients()[c.client];
        return c.unlocks->alone && node.local(c.ended_at) - node.local(c.asked_at) >= patience();
    }

    bool server_may_say(const call& c) const {
        const scenario& how = all_.how();
        const bool disturbed = c.unlocks->asked_at < all_.settled_at() || how.is_slow();
        if (c.ec == errc::not_connected && disturbed && patience_is_over(c)) {
            return true;
        }
        if (c.ec == errc::wrong_type) {
            return how.mixes_types();
        }
        if (c.ec == errc::client_closed) {
            return closed(c);
        }
        if (c.ec == errc::not_connected && how.is_slow()) {
            return !c.unlocks->alone;
        }
        return c.unlocks->asked_at < all_.settled_at() &&
               ((c.ec == errc::read_only && how.may_say_read_only()) ||
                (c.ec == errc::server_unavailable && how.may_say_unavailable()) ||
                (c.ec == errc::out_of_memory && how.has(fault::out_of_memory)) ||
                (c.ec == errc::permission_denied && how.has(fault::no_permission)) ||
                (c.ec == errc::not_connected && !c.unlocks->alone));
    }

    std::vector<const call*> open_{};
    std::map<std::uint64_t, std::uint64_t> losses_{};  // of connections before, by the unlock
};

}  // namespace

std::unique_ptr<checker> make_verdicts(simulation& s) { return std::make_unique<verdicts>(s); }

}  // namespace conch::sim
