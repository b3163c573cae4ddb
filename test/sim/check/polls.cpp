// SPDX-License-Identifier: BSL-1.0
// When all has settled, a waiter whose subscription works doesn't ask by itself before the lease
// that it was told of, or half of the longest interval, has passed: it relies on messages.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace conch::sim {
namespace {

class polls final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "polls"; }
    bool of_one_queue() const noexcept override { return true; }

    void ran(const script_run& r) override {
        const auto name = all_.name_in(r);
        if (!name || !r.is("acquire")) {
            return;
        }
        const std::uint64_t number = simulation::owner_in(std::string{r.args.front()}).number;
        const answered now{number, r.at + pause_after(r.answer)};
        answered& last = due_.try_emplace({r.client, *name}, now).first->second;
        // Copies of older tries may come late.
        if (number > last.number || (number == last.number && now.due < last.due)) {
            last = now;
        }
    }

    void turned(std::uint64_t client) override {
        counted_.resize(std::max<std::size_t>(counted_.size(), client + 1));
        const std::uint64_t made = all_.clients()[client]->engine().counters().wakes_by_poll;
        const bool asked = std::exchange(counted_[client], made) != made;
        // Subscriptions that were refused, or that a server ended by itself.
        const bool deaf = all_.how().has(fault::no_channel) || all_.how().has(fault::unsubscribed);
        if (asked && all_.settled() && !deaf && !may_ask(client)) {
            violate("client " + std::to_string(client) + " asks though it would be told");
        }
    }

private:
    /// A try that the server has answered, and when the next one is due.
    struct answered {
        std::uint64_t number = 0;
        instant due = 0;
    };

    /// For so long nobody asks. What isn't a number of milliseconds tells of no lease.
    instant pause_after(const reply& answer) const {
        const instant longest = all_.how().settings.max_poll_interval.count() / 2;
        const bool busy = answer.what == reply::kind::integer;
        const instant left = busy && answer.integer >= 0 ? (answer.integer + 1) * millis : longest;
        return (busy ? std::min(left, longest) : 0) * 98 / 100;  // the client's clock drifts
    }

    bool may_ask(std::uint64_t client) const {
        return std::any_of(due_.begin(), due_.end(), [&](const auto& d) {
            const auto& [of, last] = d;
            return of.first == client && last.due <= all_.the_world().now() &&
                   wanted(client, of.second);
        });
    }

    bool wanted(std::uint64_t client, std::size_t name) const {
        return std::any_of(all_.users().begin(), all_.users().end(), [&](const auto& u) {
            return u->client() == client && u->queued_for(name);
        });
    }

    std::map<std::pair<std::uint64_t, std::size_t>, answered> due_{};
    std::vector<std::uint64_t> counted_{};
};

}  // namespace

std::unique_ptr<checker> make_polls(simulation& s) { return std::make_unique<polls>(s); }

}  // namespace conch::sim
