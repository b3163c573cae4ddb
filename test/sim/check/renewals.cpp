// SPDX-License-Identifier: BSL-1.0
// As long as a client is connected, a hold that is renewed is asked for before more than a third of
// its lease has passed: also one that was granted late.
#include "hold/acquisition.hpp"
#include "hold/downgrading.hpp"
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class renewals final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "renewals"; }

    void ran(const script_run& r) override {
        if (r.script == "shared_downgrade") {
            refused_.erase(std::string{r.args[1]});
            if (r.answer.is_error()) {
                refused_.emplace(r.args[1]);
            }
        }
    }

    void turned(std::uint64_t client) override {
        const client_node& node = *all_.clients()[client];
        if (node.closed()) {
            return;
        }
        for (const held& h : all_.holds()) {
            if (h.client != client || !lock::level_of(*h.view)) {
                continue;
            }
            const std::pair key{h.client, h.number};
            if (!overdue(*lock::level_of(*h.view)->of, node)) {
                since_.erase(key);
            } else if (node.local_now() > since_.emplace(key, node.local_now()).first->second +
                                              pause(h, *lock::level_of(*h.view)->of)) {
                violate("lock " + std::to_string(h.name) + " of user " + std::to_string(h.user) +
                        " isn't renewed in time");
            }
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    /// One that was refused is tried again after a pause, and one that was withheld until its
    /// holder reported progress. So is one whose first field is missing, where the downgrade that
    /// looks for the other one was refused.
    duration pause(const held& h, const lock::acquisition& a) const {
        constexpr duration least = std::chrono::milliseconds{20};
        const bool waits = a.refusal_logged || a.is_withheld() ||
                           (a.two_fields && refused_.contains(all_.reader_of(h)));
        return waits ? std::max(least, a.terms.lease / 30) + tolerance : duration{};
    }

    /// By this turn: one that an answer made due is asked for in the next. A downgrade asks for as
    /// much.
    static bool overdue(const lock::acquisition& a, const client_node& node) {
        return a.home.link().ready() && a.terms.renew && !a.last && !a.renewing &&
               !lock::downgrade_of(a) && !a.shows_no_progress(node.local_now()) &&
               a.now == lock::acquisition::phase::held &&
               node.local_now() > a.extended + a.terms.lease / 3 + tolerance;
    }

    std::map<std::pair<std::uint64_t, std::uint64_t>, time_point> since_{};
    std::set<std::string> refused_{};  // readers whose last downgrade met an error
};

}  // namespace

std::unique_ptr<checker> make_renewals(simulation& s) { return std::make_unique<renewals>(s); }

}  // namespace conch::sim
