// SPDX-License-Identifier: BSL-1.0
// What a client keeps is bounded by what its users have asked for, nothing of it is left in the
// end, and it doesn't ask the server again and again.
#include "sim/simulation.hpp"

#include <algorithm>
#include <vector>

namespace conch::sim {
namespace {

class bounds final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "bounds"; }

    void turned(std::uint64_t client) override {
        const client_node& c = *all_.clients()[client];
        const stats s = c.engine().counters();
        const std::uint64_t users = all_.how().users;
        const std::size_t links = c.engine().links();
        limit(links, most_links(), "links");
        // One that moved to another link may still end on those before.
        limit(s.subscriptions_now, most_channels() * (links > 2 ? links : 1), "subscriptions");
        look_at(c.engine().belongings(), users, links);
        look_at_polls(client, s.wakes_by_poll, c.local_now());
    }

    void rested() override {
        for (const auto& c : all_.clients()) {
            if (!c->dead()) {
                look_at_rest(c->engine().belongings(), c->engine().links());
            }
        }
    }

private:
    /// In line for a fair lock each waiter has one, which ends when the server answers.
    std::uint64_t most_channels() const {
        return all_.how().fair ? 32 * all_.how().users : all_.how().names;
    }
    /// Each slot of a fair lock is one waiter, or what is left of one.
    std::uint64_t most_slots(const engine::inventory& i) const {
        return all_.how().fair ? i.waiters + i.acquisitions : all_.how().names;
    }

    /// The handshake, some answers, and as many messages as there may be on one line.
    static constexpr std::uint64_t most_input = 64u << 10;
    /// To each process of a cluster, and to the one that is asked.
    /// One to who knows the others, one or two to each of them.
    std::uint64_t most_links() const {
        return 1 + (all_.how().replicas.at_least > 0 ? 2 : 1) * std::uint64_t{6};
    }

    /// Two each; and the time of the next question where the masters are.
    static std::uint64_t timers_of(std::uint64_t links) {
        return 2 * links + (links > 1 ? 1 : 0);
    }

    void look_at(const engine::inventory& i, std::uint64_t users, std::uint64_t links) {
        const std::uint64_t askers = all_.how().askers;
        // Given up, but the server may have it: each ends with its release, or one lease after its
        // connection; a question, with the answer.
        const std::uint64_t given_up = 32 * users;
        const std::uint64_t levels = 3 * users;
        const std::uint64_t watchers = levels * (1 + all_.how().further_watchers);
        limit(i.slots, most_slots(i), "slots");
        limit(i.limiters, all_.how().limits.size(), "limiters");
        limit(i.waiters, users, "waiters");
        limit(i.permit_requests, askers, "requests for permits");
        limit(i.levels, levels, "holds");
        limit(i.watchers, watchers, "watchers");
        limit(i.extensions, users, "extensions");
        limit(i.pending, 2 * users + watchers + askers, "pending operations");
        limit(i.acquisitions, i.waiters + i.levels + given_up, "acquisitions");
        limit(i.level_changes, users + given_up, "changes of a level");
        limit(i.downgrades, users + given_up, "downgrades");
        limit(i.notes, users + given_up, "notes");
        limit(i.queries, users + given_up, "questions");
        limit(i.renewals, i.levels + given_up, "renewals");
        limit(i.input_room, most_input * links, "bytes of room for input");
        limit(i.timers,
              timers_of(links) + 2 * i.acquisitions + i.waiters + i.watchers + i.extensions +
                  i.level_changes + i.downgrades + i.queries + i.permit_requests + 2 * i.limiters +
                  i.slots + 1,
              "timers");
    }

    void look_at_rest(const engine::inventory& i, std::uint64_t links) {
        const std::uint64_t all = i.pending + i.acquisitions + i.levels + i.waiters + i.watchers +
                                  i.extensions + i.level_changes + i.downgrades + i.notes +
                                  i.watched_waits + i.queries + i.permit_requests + i.slots +
                                  i.limiters + i.renewals;
        limit(all, 0, "things kept for nobody");
        limit(i.timers, timers_of(links), "timers for nobody");
    }

    /// A slot that was told how long the lock is taken doesn't ask sooner than a millisecond later.
    void look_at_polls(std::uint64_t client, std::uint64_t polls, time_point now) {
        constexpr duration window = std::chrono::milliseconds{50};
        periods_.resize(std::max<std::size_t>(periods_.size(), client + 1));
        period& p = periods_[client];
        limit(polls - p.polls,
              (all_.how().fair ? all_.how().users : all_.how().names) *
                  static_cast<std::uint64_t>(3 + (now - p.began) / millisecond),
              "polls in a while");
        if (now - p.began > window) {
            p = {now, polls};
        }
    }

    void limit(std::uint64_t n, std::uint64_t most, const char* what) {
        if (n > most) {
            violate(std::to_string(n) + " " + what + ", at most " + std::to_string(most));
        }
    }

    static constexpr duration millisecond = std::chrono::milliseconds{1};
    struct period {
        time_point began{};
        std::uint64_t polls = 0;  ///< until then
    };
    std::vector<period> periods_{};
};

}  // namespace

std::unique_ptr<checker> make_bounds(simulation& s) { return std::make_unique<bounds>(s); }

}  // namespace conch::sim
