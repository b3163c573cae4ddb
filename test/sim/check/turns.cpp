// SPDX-License-Identifier: BSL-1.0
// A process that waits for a lock isn't passed over for long by another one whose users hand the
// lock to each other: when all has settled and messages arrive, it has its turn after two rows of
// their holds, each as long as the settings let it be. (In the first one its rival may not know of
// it.) Of those that share a lock only writers have turns, and readers that ride on another's hold
// count as one with it.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace conch::sim {
namespace {

class turns final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "turns"; }
    bool of_one_queue() const noexcept override { return true; }

    void ran(const script_run& r) override {
        const auto name = all_.name_in(r);
        const auto known = name ? queues_.find({r.client, *name}) : queues_.end();
        if (r.is("release") && known != queues_.end()) {
            known->second = queue{.since = r.at + longest_turn};
        }
        if (!name || !r.is("acquire") || r.script == "shared_read" || !may_be_judged()) {
            return;
        }
        const queue fresh{.since = r.at + all_.how().promptness()};
        const auto [it, added] = queues_.try_emplace({r.client, *name}, fresh);
        const bool busy = r.answer.what == reply::kind::integer ||
                          (r.script == "shared_write" && r.answer.what == reply::kind::array);
        if (!busy) {  // it has its turn, be it too late for it
            it->second = fresh;
        }
    }

    void stepped() override {
        std::erase_if(queues_, [&](const auto& q) { return !waits(q.first); });
    }

    void ended(const call& c) override {
        if (!c.acquires || !c.view || c.within || rides(c)) {
            return;
        }
        for (auto& [who, q] : queues_) {
            if (who.second != c.name || c.ended_at <= q.since) {
                continue;
            }
            if (who.first == c.client) {
                q = queue{.since = c.ended_at};
            } else {
                count(who, q, c);
            }
        }
    }

private:
    using waiter = std::pair<std::uint64_t, std::size_t>;  // a client, and for which lock
    struct queue {
        instant since = 0;  ///< certainly listens since then
        std::uint64_t rival = 0;
        std::size_t holds = 0;    ///< of the rival, in a row
        instant first = 0;        ///< of these
        instant second_row = -1;  ///< the first when the first row must have been over
    };

    /// It may also lose a race or two: another one's try comes to the server just before its own.
    static constexpr instant tolerance = 100 * millis;
    /// For so long a client whose row is over leaves the lock to others.
    static constexpr instant longest_turn = 200 * millis;

    /// Slow answers make it miss a turn now and then; and what strangers do isn't told.
    bool may_be_judged() const {
        const scenario& how = all_.how();
        return all_.settled() && !how.nesting && !how.detaching && how.net.spike_once_in == 0 &&
               how.net.piece == 0 && !how.is_slow() && !how.misses_messages() && !how.same_key &&
               !how.has(fault::unsubscribed) && !how.has(fault::persist) &&
               !how.has(fault::deletion) && !how.has(fault::vandal) && !how.has(fault::force);
    }

    /// On a reader's hold, or on a writer's that was downgraded.
    bool rides(const call& c) { return !granted_.emplace(c.client, c.number).second && c.shared; }

    /// Then its writers wait for its own readers.
    bool is_read_by(const waiter& w) const {
        return std::any_of(all_.holds().begin(), all_.holds().end(), [&](const held& h) {
            return h.client == w.first && h.name == w.second && all_.reads(h);
        });
    }

    bool waits(const waiter& w) const {
        const call* const first = all_.first_in_queue(w.first, w.second);
        const auto is_patient = [&](const auto& u) {
            const call* c = u->client() == w.first ? u->queued_for(w.second) : nullptr;
            return c && c->completions == 0 && c->wait > duration::zero();
        };
        return first && !first->shared && !is_read_by(w) &&
               std::any_of(all_.users().begin(), all_.users().end(), is_patient);
    }

    /// When it was granted the lock, its wait was over, by its client's clock.
    bool waited_enough(const call& c) const {
        const client_node& node = *all_.clients()[c.client];
        return node.local(c.ended_at) >= core::after(node.local(c.asked_at), c.wait);
    }

    // Who doesn't wait, or no longer, asks at once, whose turn it may be; and a lease that ends is
    // nobody's turn.
    void count(const waiter& who, queue& q, const call& c) {
        const bool lost = std::any_of(all_.holds().begin(), all_.holds().end(), [&](const held& h) {
            return h.name == c.name && h.view->lost.load() != 0;
        });
        if (waited_enough(c) || lost) {
            q = queue{.since = c.ended_at};
            return;
        }
        if (q.holds == 0 || q.rival != c.client) {
            q = queue{.since = q.since, .rival = c.client, .first = c.ended_at};
        }
        const config& settings = all_.clients()[c.client]->settings();
        const instant row = settings.max_pass_time.count() + tolerance;
        ++q.holds;
        if (q.second_row < 0 && c.ended_at > q.first + row) {
            q.second_row = c.ended_at;
        }
        if (q.holds > 2 * std::size_t{settings.max_passes} + 2 ||
            (q.second_row >= 0 && c.ended_at > q.second_row + row)) {
            violate("client " + std::to_string(who.first) + " has had no turn at lock " +
                    std::to_string(who.second) + " for " + std::to_string(q.holds) +
                    " holds of client " + std::to_string(c.client));
            q = queue{.since = c.ended_at};
        }
    }

    std::map<waiter, queue> queues_{};
    std::set<std::pair<std::uint64_t, std::uint64_t>> granted_{};  // clients, numbers
};

}  // namespace

std::unique_ptr<checker> make_turns(simulation& s) { return std::make_unique<turns>(s); }

}  // namespace conch::sim
