// SPDX-License-Identifier: BSL-1.0
// Who wants several locks has them all, or waits for one with none: what it got of the others is
// given back in a moment, so that nobody waits in a circle.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace conch::sim::majority {
namespace {

/// Who has got the one that it waited for waits for the others, so long at most (doc of
/// `multi_lock`: 50 ms), twice: another attempt of its process may have taken it over.
constexpr instant settling = 2 * 50 * millis;

class all_or_none final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "all_or_none"; }

    void inspected() override {
        std::map<kept, instant> still;
        for (std::size_t name = 0; name < all_.how().names && may_be_judged(); ++name) {
            for (std::size_t place = 0; place < all_.how().places(); ++place) {
                for (const std::string& field : all_.locks().fields(name, place)) {
                    look({{name, place}, field}, still);
                }
            }
        }
        since_ = std::move(still);
    }

private:
    /// A name, a place, and who has the lock there.
    using kept = std::pair<std::pair<std::size_t, std::size_t>, std::string>;

    // With several users in a process, a lock may pass from one attempt to the next for long.
    bool may_be_judged() const {
        const scenario& how = all_.how();
        return how.all && how.users == 1 && !how.detaching && all_.settled() &&
               how.answers_in_time();
    }

    void look(const kept& k, std::map<kept, instant>& still) {
        if (!is_alone(k)) {
            return;
        }
        const instant now = all_.the_world().now();
        const auto seen = since_.find(k);
        const instant first = seen != since_.end() ? seen->second : now;
        if (now > first + settling + all_.how().promptness()) {
            violate("a lock is kept without the others: " + k.second);
        }
        still.emplace(k, first);
    }

    /// It is no part of a hold, and its process could give it back: a client that is shut down goes
    /// when its time is up, whether or not it reached the server.
    bool is_alone(const kept& k) {
        const auto [name, place] = k.first;
        const process* const home = all_.process_of(place, k.second);
        return home && !home->dead() && !home->node(place).closing() &&
               std::ranges::none_of(all_.holds(), [&](const held& h) {
                   const impl::view_ptr& part = h.part(place);
                   return h.home == home && h.name == name && part &&
                          all_.locks().told_as(name, place, h.home->field_of(place, *part)) ==
                              k.second;
               });
    }

    std::map<kept, instant> since_{};  // when they were seen to be kept
};

}  // namespace

std::unique_ptr<checker> make_all_or_none(simulation& s) {
    return std::make_unique<all_or_none>(s);
}

}  // namespace conch::sim::majority
