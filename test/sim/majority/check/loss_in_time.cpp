// SPDX-License-Identifier: BSL-1.0
// A hold that has lost its majority is told so in time, and so is whoever watches it.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace conch::sim::majority {
namespace {

/// A member's word comes later than it is seen, and the group's own word a moment behind its time.
constexpr instant tolerance = 25 * millis;

class loss_in_time final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "loss_in_time"; }

    void turned(process& p) override {
        for (const held& h : all_.holds()) {
            if (h.home == &p && h.lost() && h.watch && h.watch->completions == 0) {
                violate("who watches a hold is not told of its loss");
            }
        }
    }

    void completed(const call& c) override {
        // The drain of a member is told at its beginning, as if that were lost.
        if (c.what != call::kind::watch || !c.ec || c.given_up || c.ec == errc::overloaded ||
            c.by->home().is_closing()) {
            return;
        }
        const bool is_over = c.by->home().local_now() >= impl::end_of(*c.watches);
        if (c.watches->lost.load() == 0 && !is_over && (c.before == duration{} || lasts(c))) {
            violate("who watches a hold is told of a loss that is none");
        }
    }

    void inspected() override {
        std::map<reason, instant> still;
        for (const held& h : all_.holds()) {
            const bool is_over = !h.lost() && !h.believes();
            if (!is_over && !(h.believes() && is_due(h))) {
                continue;
            }
            const auto seen = since_.find({h.view, is_over});
            const instant first = seen != since_.end() ? seen->second : all_.the_world().now();
            // The group knows the end by itself, and what is before that from its members.
            const instant since =
                std::max(first, is_over ? h.home->paused_until() : h.home->hangs_until());
            if (all_.the_world().now() > since + tolerance) {
                violate(is_over ? "a hold that nobody believes in is not lost"
                                : "who watches a hold is not told before its end");
            }
            still.emplace(reason{h.view, is_over}, first);
        }
        since_ = std::move(still);
    }

private:
    using reason = std::pair<impl::view_ptr, bool>;  // it is over; else its watch is to tell now

    // Its watch is to tell now.
    static bool is_due(const held& h) {
        return h.watch && h.watch->completions == 0 && h.watch->before > duration{} &&
               h.home->local_now() + h.watch->before >= h.valid_until();
    }

    // By members that joined before this turn: one that came behind the word may have mended it.
    // Where the end is set, its time has come by that alone: what members have confirmed of an
    // extension moves it on when the group hears of it.
    bool lasts(const call& c) const {
        const process& home = c.by->home();
        if (impl::end_of(*c.watches) <= home.local_now() + c.before) {
            return false;
        }
        const auto& parts = static_cast<const group::view&>(*c.watches).parts;
        const instant joined = all_.the_world().now() - 3 * all_.how().answer_timeout.count();
        std::size_t lasting = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool counts =
                parts[i] && parts[i]->lost.load() == 0 &&
                home.born(c.at->places()[i], *parts[i]) < joined &&
                impl::end_of(*parts[i]) > home.local_now() + c.before + between_strands;
            lasting += counts ? 1u : 0u;
        }
        return lasting >= c.at->needed();
    }

    std::map<reason, instant> since_{};  // when that was seen first
};

}  // namespace

std::unique_ptr<checker> make_loss_in_time(simulation& s) {
    return std::make_unique<loss_in_time>(s);
}

}  // namespace conch::sim::majority
