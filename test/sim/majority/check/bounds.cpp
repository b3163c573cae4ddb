// SPDX-License-Identifier: BSL-1.0
// Every call ends once, in the time that it has, and with an answer that fits.
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

namespace conch::sim::majority {
namespace {

using namespace std::chrono_literals;

/// For what is on its way between strands, and clocks that drift.
constexpr duration slack = 100ms;

class bounds final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "bounds"; }

    void completed(const call& c) override {
        if (c.completions != 1) {
            violate("a call ended twice");
        }
        if (c.what == call::kind::acquire && c.view && c.ec) {
            violate("a hold comes with an error");
        }
        if (c.what == call::kind::acquire && !c.view && !c.ec && !c.try_only) {
            violate("neither a hold nor an error");
        }
        needless(c);
        if (c.view && c.by->home().local_now() >= impl::end_of(*c.view)) {
            violate("what is granted is over");
        }
    }

    void turned(process& p) override {
        for (const auto& u : all_.users()) {
            const call* const c = &u->home() == &p ? u->asks_now() : nullptr;
            if (c && c->given_up && c->completions == 0) {
                violate("a call that is given up goes on: " + number_of(*c));
            }
        }
    }

    // Calls end in about the order in which they began.
    void inspected() override {
        note_reach();
        const auto& calls = all_.calls();
        while (done_ < calls.size() && (calls[done_].completions > 0 || is_dead(calls[done_]))) {
            ++done_;
        }
        for (std::size_t i = done_; i < calls.size(); ++i) {
            const call& c = calls[i];
            if (c.completions == 0 && !is_dead(c) && is_late(c)) {
                violate("a call is late: " + number_of(c));
                return;
            }
        }
    }

private:
    static std::string number_of(const call& c) { return std::to_string(static_cast<int>(c.what)); }

    // With a server that is connected, and silent, it is given more time than it needs.
    void note_reach() {
        for (const auto& p : all_.processes()) {
            for (const auto& g : p->groups()) {
                const std::vector<std::size_t>& all = g->places();
                const auto there = std::ranges::count_if(
                    all, [&](std::size_t i) { return p->node(i).connected(); });
                if (static_cast<std::size_t>(there) >= g->needed()) {
                    unreached_since_.erase(g.get());
                } else {
                    unreached_since_.try_emplace(g.get(), all_.the_world().now());
                }
            }
        }
    }

    // Whose process stood still while it was in line learns only then that nobody is there.
    bool is_unreached(const call& c) const {
        const auto found = unreached_since_.find(c.at);
        const duration t = all_.how().answer_timeout;
        const duration line = all_.how().terms_of(all_.how().servers).line;
        const duration patience = all_.how().settings.operation_timeout * 102 / 100;
        return found != unreached_since_.end() &&
               all_.the_world().now() >
                   std::max({found->second, c.asked_at, c.by->home().paused_until()}) +
                       (patience + line + 6 * t + slack).count();
    }

    void needless(const call& c) {
        const bool greeted = c.asked_at > c.by->home().began_at() + 2 * seconds;
        // The others ask those that have a part in the hold.
        const bool asks_all = c.what == call::kind::acquire || c.what == call::kind::status ||
                              c.what == call::kind::force;
        // Where an engine refuses what is too much for it, that may be one error too many.
        const bool of_itself = !c.ec || c.given_up || c.ec == errc::timed_out ||
                               c.ec == errc::overloaded || c.by->home().is_closing() ||
                               all_.how().crowded();
        if (asks_all && all_.how().enough_are_sound() && greeted && !of_itself) {
            violate("a call does not find the majority that is there: " + number_of(c) + ", \"" +
                    c.ec.message() + '"');
        }
    }

    static bool is_dead(const call& c) { return c.by->home().dead(); }

    bool is_late(const call& c) const {
        const duration t = all_.how().answer_timeout;
        const process& home = c.by->home();
        const instant now = all_.the_world().now();
        const duration patience = all_.how().settings.operation_timeout * 102 / 100;
        if (now < home.paused_until() + slack.count() + 8 * t.count()) {
            return false;  // it has as much time as that took, too
        }
        const duration passed{now - c.asked_at};
        switch (c.what) {
            case call::kind::acquire: {
                const duration wait = c.options.wait.value_or(c.try_only ? 0s : forever);
                // The first round and what settles it are given their time.
                return is_unreached(c) ||
                       (wait != forever && passed > wait + wait / 50 + 4 * t + slack);
            }
            case call::kind::extend: return passed > patience + slack;
            case call::kind::unlock:
                return home.local_now() > c.until + slack || passed > patience + slack;
            case call::kind::status:
            case call::kind::force: return passed > t + slack;
            case call::kind::watch: return false;  // loss_in_time knows
        }
        return false;
    }

    std::size_t done_ = 0;
    std::map<const group_node*, instant> unreached_since_{};  // too few members were there
};

}  // namespace

std::unique_ptr<checker> make_bounds(simulation& s) { return std::make_unique<bounds>(s); }

}  // namespace conch::sim::majority
