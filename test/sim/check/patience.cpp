// SPDX-License-Identifier: BSL-1.0
// Nobody waits for ever for a server that isn't there: an operation ends when its patience with
// that is over, and one that is given up, in the turn in which it is.
#include "sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace conch::sim {
namespace {

class patience final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "patience"; }

    void asks(const call& c) override {
        const bool first = c.acquires && asked_.emplace(c.client, c.name).second;
        open_.push_back({&c, c.asked_at, c.acquires && !first});
    }

    void turned(std::uint64_t client) override {
        const client_node& node = *all_.clients()[client];
        note_reach(node);
        std::erase_if(open_, [](const waiting& w) { return w.of->completions != 0; });
        for (waiting& w : open_) {
            const call& c = *w.of;
            if (c.client != client || !c.running) {
                continue;
            }
            w.has_rivals = w.has_rivals || has_rivals(c);
            if (c.given_up) {
                violate(of(c) + " goes on, though it was given up");
            } else if (node.local_now() > until(w, node)) {
                violate(of(c) + " is not told that there is no server");
            }
        }
    }

private:
    struct waiting {
        const call* of;
        instant since;    ///< for the server
        bool has_rivals;  ///< it may wait for a holder, or for one that is being released
    };

    static constexpr duration tolerance = std::chrono::milliseconds{1};

    static std::string of(const call& c) {
        const char* const what = c.acquires ? "the acquire" : c.asks ? "the question" : "the call";
        return what + (" of user " + std::to_string(c.user)) + ", of " +
               std::to_string(c.asked_at / micros) + " us,";
    }

    void note_reach(const client_node& node) {
        unreached_since_.resize(std::max<std::size_t>(unreached_since_.size(), node.index() + 1),
                                -1);
        instant& since = unreached_since_[node.index()];
        if (node.connected()) {
            since = -1;
        } else if (since < 0) {
            since = all_.the_world().now();
        }
    }

    /// Who wants a lock has patience with the server from when it is missed; others, from when they
    /// ask.
    time_point until(waiting& w, const client_node& node) const {
        const call& c = *w.of;
        const instant missed = unreached_since_[node.index()];
        if (!c.asks && (!c.acquires || missed < 0)) {
            return core::never;
        }
        if (c.acquires && waits_here(c)) {
            w.since = all_.the_world().now();
        }
        const scenario& how = all_.how();
        // An acquire that was sent may be answered yet, on another connection: so long again.
        const duration once = how.settings.operation_timeout;
        const duration turn = w.has_rivals
                                  ? how.settings.max_poll_interval + how.longest_extension()
                                  : duration::zero();
        const time_point over = c.asks ? node.local(c.asked_at) + once
                                       : node.local(std::max(w.since, missed)) + 2 * once + turn;
        return std::max(over, node.local(node.paused_until())) + tolerance;
    }

    /// A holder; or a writer that waits, whom readers let go first; or who stands in a line, where
    /// it may be itself.
    bool has_rivals(const call& c) {
        server_node& s = all_.server();
        const std::string key{all_.spec(c.name)->name()};
        const auto is_there = [&](const std::string& k) {
            return s.redis().anyone_has(k, s.wall_clock());
        };
        return c.acquires && (is_there(key) || is_there(writer_key(key)) ||
                              is_there("redisson_lock_queue:{" + key + '}'));
    }

    /// For another one of its client, which needs no server.
    bool waits_here(const call& c) const {
        return std::any_of(all_.holds().begin(), all_.holds().end(), [&](const held& h) {
            return h.client == c.client && all_.same_key(h.name, c.name);
        });
    }

    std::vector<waiting> open_{};
    std::set<std::pair<std::uint64_t, std::size_t>> asked_{};  // by which clients, for which locks
    std::vector<instant> unreached_since_{};  // by client: -1: there is a connection
};

}  // namespace

std::unique_ptr<checker> make_patience(simulation& s) { return std::make_unique<patience>(s); }

}  // namespace conch::sim
