// SPDX-License-Identifier: BSL-1.0
// When all has settled, one of those who try for a free lock of a majority at the same time gets
// it: they do not all give way to each other, not even if each of them asks once only.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <vector>

namespace conch::sim::majority {
namespace {

class contention final : public checker {
public:
    explicit contention(simulation& s) : checker{s}, contests_(s.how().names) {}
    std::string_view name() const noexcept override { return "contention"; }

    void asked(const call& c) override {
        if (c.what == call::kind::acquire && !is_contested(c)) {
            contests_[c.name] = {.is_fair = may_be_judged() && is_free(c.name)};
        }
    }

    void completed(const call& c) override {
        if (c.what != call::kind::acquire) {
            return;
        }
        contest& of = contests_[c.name];
        of.is_won = of.is_won || c.view;
        of.is_fair = of.is_fair && !c.given_up && has_time(c) &&
                     (!c.ec || c.ec == errc::timed_out) && !all_.forced(c.name, c.asked_at) &&
                     all_.others().last_taken(c.name) < c.asked_at;
        if (!is_contested(c) && std::exchange(of.is_fair, false) && !of.is_won) {
            violate("nobody gets lock " + std::to_string(c.name) + ", which is free");
        }
    }

private:
    struct contest {
        bool is_fair = false;  ///< it began with a free lock, and nothing disturbs it
        bool is_won = false;
    };

    bool may_be_judged() const {
        const scenario& how = all_.how();
        return all_.settled() && how.answers_in_time() && !how.all;
    }

    /// Its lease is not over before all have answered.
    bool has_time(const call& c) const {
        return std::min(*c.options.lease, c.options.max_hold) > 4 * all_.how().answer_timeout;
    }

    /// By others than this one.
    bool is_contested(const call& c) const {
        return std::any_of(all_.users().begin(), all_.users().end(), [&](const auto& u) {
            const call* const other = u->asks_now();
            return other && other != &c && other->what == call::kind::acquire &&
                   other->name == c.name && other->completions == 0;
        });
    }

    /// At each server, and nothing on its way there may take it. All are connected.
    bool is_free(std::size_t name) {
        for (std::size_t i = 0; i < all_.how().servers; ++i) {
            const bool is_quiet =
                std::all_of(all_.processes().begin(), all_.processes().end(), [&](const auto& p) {
                    return p->dead() || (p->node(i).connected() && !p->node(i).closing() &&
                                         p->node(i).engine().unsettled() == 0);
                });
            if (!is_quiet || (all_.locks().taken(name, i) && !all_.others().is_spoilt(name, i))) {
                return false;
            }
        }
        return true;
    }

    std::vector<contest> contests_;
};

}  // namespace

std::unique_ptr<checker> make_contention(simulation& s) { return std::make_unique<contention>(s); }

}  // namespace conch::sim::majority
