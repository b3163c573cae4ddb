// SPDX-License-Identifier: BSL-1.0
// An operation ends as it may: a wait not before its time, a try in vain only where the lock was
// taken, with a loss only where there was one, and with another error only if this run has a fault
// that brings it about. What is asked when all has settled succeeds.
#include "sim/simulation.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace conch::sim {
namespace {

class outcomes final : public checker {
public:
    explicit outcomes(simulation& s)
        : checker{s}, there_at_(s.how().names, -1), closed_at_(there_at_) {}
    std::string_view name() const noexcept override { return "outcomes"; }

    void asks(const call& c) override {
        if (c.acquires && c.wait == duration::zero() && rivalled(c)) {
            rivalled_.insert(c.place);
        }
        if (client_of(c).engine().counters().connects == 0) {
            early_.insert(c.place);
        }
        // Whoever has the lock already waits for no other holder, but for the server.
        const bool waits = c.wait > duration::zero() && c.wait != forever;
        if ((c.acquires || (c.permits && !c.try_only)) && waits && !all_.how().nesting) {
            waiting_.push_back(&c);
        }
    }

    void turned(std::uint64_t client) override {
        std::erase_if(waiting_, [](const call* c) { return c->completions != 0; });
        for (const call* c : waiting_) {
            const client_node& node = client_of(*c);
            const time_point over = std::max(node.local(c->asked_at) + c->wait,
                                             node.local(node.paused_until()));
            if (c->client == client && c->running &&
                node.local_now() > over + lock::answer_grace) {
                violate(of(*c) + " outlives its wait");
            }
        }
    }

    void stepped() override {
        server_node& server = all_.server();
        for (std::size_t name = 0; name < there_at_.size(); ++name) {
            const std::string lock{all_.spec(name)->name()};
            if (server.redis().anyone_has(lock, server.wall_clock()) && !dead_alone_read(name)) {
                there_at_[name] = all_.the_world().now();
            }
            if (all_.how().read_write && closed_to_readers(lock)) {
                closed_at_[name] = all_.the_world().now();
            }
        }
    }

    void ended(const call& c) override {
        const bool in_vain =
            c.acquires && (c.try_only ? !c.ec && !c.view : c.ec == errc::timed_out);
        if (in_vain) {
            judge_wait(c);
        } else if (!c.ec) {
            judge_success(c);
        } else if (!may_end_so(c)) {
            violate(of(c) + " ends with \"" + c.ec.message() + "\", asked at " +
                    std::to_string(c.asked_at / micros) + " us");
        }
    }

private:
    static std::string of(const call& c) {
        if (c.permits) {
            return "the request for permits by client " + std::to_string(c.client);
        }
        const char* what = c.acquires     ? c.try_only ? "the try" : "the acquire"
                           : c.unlocks    ? "the unlock"
                           : c.watches    ? "the watch"
                           : c.forces     ? "the forced unlock"
                           : c.downgrades ? "the downgrade"
                           : is_status(c) ? "the question"
                                          : "the extension";
        return std::string{what} + " of user " + std::to_string(c.user);
    }

    static bool is_status(const call& c) noexcept {
        return c.asks && !c.downgrades && c.asks->lease == duration::zero();
    }

    const client_node& client_of(const call& c) const { return *all_.clients()[c.client]; }

    /// They make way for a writer; or the lock has no expiry, whoever had it.
    bool closed_to_readers(const std::string& lock) {
        server_node& server = all_.server();
        return server.redis().left(lock, server.wall_clock()) == -1 ||
               server.redis().anyone_has(writer_key(lock), server.wall_clock());
    }

    /// It is read, but by none whose lease goes on. Not where another master may know more.
    bool dead_alone_read(std::size_t name) {
        if (!all_.how().read_write || all_.how().has(fault::split_brain)) {
            return false;
        }
        server_node& server = all_.server();
        const auto all = server.redis().fields(all_.spec(name)->name(), server.wall_clock());
        return !all.empty() && std::all_of(all.begin(), all.end(), [&](const std::string& field) {
            return all_.is_dead_reader(name, field);
        });
    }

    /// Others of its client have the lock or wait for it: reason enough not to ask the server.
    bool rivalled(const call& c) {
        const user& by = *all_.users()[c.user];
        const bool waits =
            std::any_of(all_.users().begin(), all_.users().end(), [&](const auto& u) {
                return u->client() == by.client() && u->index() != by.index() &&
                       u->queued_for(by.name());
            });
        const bool holds = std::any_of(
            all_.holds().begin(), all_.holds().end(),
            [&](const held& h) { return h.client == by.client() && h.name == by.name(); });
        // A deeper level that was given up keeps its lock until that is known at the server.
        const bool nests = all_.how().nesting && client_of(c).engine().unsettled() > 0;
        return waits || holds || nests;
    }

    void judge_wait(const call& c) {
        if (c.wait == duration::zero() && !all_.how().fair) {  // else somebody may be in line
            const std::size_t name = all_.users()[c.user]->name();
            const instant closed = c.shared ? closed_at_[name] : -1;
            if (!rivalled_.contains(c.place) && std::max(there_at_[name], closed) < c.asked_at) {
                violate(of(c) + " finds lock " + std::to_string(name) + " taken, which was free");
            }
            return;
        }
        const client_node& node = client_of(c);
        const duration waited = node.local(c.ended_at) - node.local(c.asked_at);
        if (waited < c.wait) {
            violate(of(c) + " gives up after " + std::to_string(waited.count() / micros) +
                    " us, not " + std::to_string(c.wait.count() / micros));
        }
    }

    void judge_success(const call& c) {
        if (c.acquires && !c.view) {
            violate(of(c) + " succeeds without a hold");
        } else if (c.watches && c.watches->asked.load() == impl::hold_request::none) {
            violate(of(c) + " ends as if its user had released the lock");
        }
    }

    bool may_end_so(const call& c) {
        if (c.ec == boost::system::errc::operation_canceled) {
            return c.given_up;
        }
        if (c.ec == errc::client_closed) {
            return client_of(c).closing();
        }
        if (c.ec == errc::overloaded) {
            return true;  // "admission" judges
        }
        if (c.permits && c.ec == errc::timed_out) {
            return !c.try_only;  // "rates" judges
        }
        if (is_loss(c.ec)) {
            return may_tell_loss(c);
        }
        if (c.ec == errc::not_replicated) {
            return c.acquires && !c.within && all_.how().replicas.at_least > 0;
        }
        return c.asked_at >= all_.settled_at() ? may_fail_when_settled(c) : may_fail(c);
    }

    static bool is_loss(error_code ec) noexcept {
        return ec == errc::lock_lost || ec == errc::lost_in_failover || ec == errc::lease_expired ||
               ec == errc::max_hold_reached || ec == errc::renewal_refused ||
               ec == errc::no_progress;
    }

    bool may_tell_loss(const call& c) const noexcept {
        if (c.unlocks) {
            return true;  // "verdicts" judges
        }
        if (c.acquires) {  // a deeper level of what was lost meanwhile
            return c.within && c.ec == static_cast<errc>(c.within->lost.load());
        }
        if (c.watches) {
            return c.before > duration::zero() || c.ec == static_cast<errc>(c.watches->lost.load());
        }
        if (!c.asks || is_status(c)) {
            return false;
        }
        const held& h = c.asks->of;
        return c.ec == static_cast<errc>(h.view->lost.load()) ||
               (c.ec == errc::max_hold_reached && h.max_hold != forever);
    }

    bool may_fail_when_settled(const call& c) const {
        // By a sentinel that doesn't know better, it may have met a replica first.
        const bool astray = c.ec == errc::read_only && all_.how().has(fault::cut_off);
        return (c.ec == errc::wrong_type && all_.how().mixes_types()) ||
               ((unanswered(c) || astray) && all_.how().is_slow()) ||
               ((unanswered(c) || astray || c.ec == errc::server_unavailable) && came_too_early(c));
    }

    // A server that was loading may be asked again just before patience ends.
    bool may_fail(const call& c) const {
        const scenario& how = all_.how();
        return (c.ec == errc::read_only && how.may_say_read_only()) ||
               (c.ec == errc::server_unavailable && how.may_say_unavailable()) ||
               (c.ec == errc::out_of_memory && how.has(fault::out_of_memory)) ||
               (c.ec == errc::permission_denied && how.has(fault::no_permission)) ||
               (c.ec == errc::wrong_type && how.mixes_types()) ||
               // A server that refuses for now may be asked again as patience ends.
               (c.downgrades && unanswered(c) &&
                (how.may_say_unavailable() || how.mixes_types())) ||
               // A SUNSUBSCRIBE that crosses the loss of its part may end the connection.
               (c.permits && c.ec == errc::outcome_unknown &&
                (how.has(fault::loading) || how.has(fault::migration))) ||
               (unanswered(c) && (how.is_slow() || how.disconnects() || came_too_early(c)));
    }

    /// Permits may have been counted, and aren't counted again.
    static bool unanswered(const call& c) noexcept {
        return c.ec == errc::not_connected || (c.permits && c.ec == errc::outcome_unknown);
    }

    /// Its wait was over before an answer came, for which it was prolonged. Of those behind it in
    /// the queue, before its client was connected; or connected to this master of a cluster, or for
    /// locks that wait for replicas.
    bool came_too_early(const call& c) const {
        const client_node& node = client_of(c);
        const duration waited = node.local(c.ended_at) - node.local(c.asked_at);
        const bool had_another =
            all_.how().run_as == deployment::cluster || all_.how().replicas.at_least > 0;
        const bool was_prolonged =
            c.wait > duration::zero() && waited >= c.wait && waited - c.wait >= lock::answer_grace;
        return was_prolonged || (c.acquires && waited >= c.wait &&
                                 (early_.contains(c.place) || had_another));
    }

    std::vector<instant> there_at_;   // when somebody had such a lock last
    std::vector<instant> closed_at_;  // when it last admitted no reader, though nobody may have it
    std::set<std::uint64_t> rivalled_{};
    std::set<std::uint64_t> early_{};  // its client had never been connected
    std::vector<const call*> waiting_{};
};

}  // namespace

std::unique_ptr<checker> make_outcomes(simulation& s) { return std::make_unique<outcomes>(s); }

}  // namespace conch::sim
