// SPDX-License-Identifier: BSL-1.0
// A fair lock goes to the waiters, those of Redisson among them, in the order in which the server
// gave them their places, as long as these last: to nobody else, and given by a release that nobody
// hears of for no longer than the place.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace conch::sim {
namespace {

class line final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "line"; }
    bool of_one_line() const noexcept override { return true; }

    void ran(const script_run& r) override {
        const auto lock = all_.name_in(r);
        if (!lock || r.answer.is_error() || !(r.is("acquire") || r.is("release"))) {
            return;
        }
        lock_line& l = lines_[*lock];
        if (forgot(*lock, l)) {
            return;
        }
        const std::string field{r.args.front()};
        const std::int64_t now = all_.server().wall_clock() / 1000;
        if (r.is_fair("release")) {
            std::erase_if(l.places, [&](const place& p) { return p.field == field; });
        } else if (r.is("acquire") && r.answer.what == reply::kind::integer && r.args[3] != "0") {
            ask(l, field, now, now + to_integer(r.args[3]).value_or(0));
        }
        const bool unheard = r.is_fair("release") && r.answer.what == reply::kind::integer &&
                             r.answer.integer == 0;
        note_holder(l, r.keys.front(), unheard);
        note_scores(l, r.keys.front());
        if (unheard && l.holder.empty()) {
            look_at_first(*lock, l);
        }
    }

    void redisson_ran(std::size_t lock, const std::string& field) override {
        lock_line& l = lines_[lock];
        if (forgot(lock, l)) {
            return;
        }
        const std::string_view key = all_.spec(lock)->name();
        const auto scores = all_.server().redis().line_scores(key, all_.server().wall_clock());
        const bool there = std::any_of(scores.begin(), scores.end(),
                                       [&](const auto& s) { return s.first == field; });
        // Who comes back when its score is over stands at the end.
        const std::int64_t now = all_.server().wall_clock() / 1000;
        std::erase_if(l.places,
                      [&](const place& p) { return p.field == field && p.until <= now; });
        if (there && place_of(l, field) == l.places.end()) {
            l.places.push_back({field, 0});
        }
        note_holder(l, key, false);
        note_scores(l, key);
    }

private:
    struct place {
        std::string field;
        std::int64_t until;
        bool late = false;  ///< it asked when it was over: where it stands is unknown
    };
    struct lock_line {
        std::string holder{};
        std::vector<place> places{};
        instant known_since = 0;
    };

    /// The server did, or has two lines: from now on the line is what it has by now. Where a clock
    /// steps, or servers have different ones, places end at other times than were told.
    bool forgot(std::size_t lock, lock_line& l) {
        if (all_.how().has(fault::server_clock) || all_.how().replicas_ahead_us != 0) {
            return true;
        }
        const std::string name{all_.spec(lock)->name()};
        instant lost = -1;
        for (const std::string& key :
             {name, "redisson_lock_queue:{" + name + "}", "redisson_lock_timeout:{" + name + "}",
              "conch_fair_lease:{" + name + "}"}) {
            lost = std::max(lost, all_.last_loss(key));
        }
        // In the instant of a loss, scripts of both servers may still run.
        if (lost < l.known_since && lost != all_.the_world().now()) {
            return false;
        }
        server_node& server = all_.server();
        const std::string* holder = server.redis().holder(name, server.wall_clock());
        l = {.holder = holder ? *holder : "", .known_since = all_.the_world().now() + 1};
        for (std::string& field : server.redis().line(name, server.wall_clock())) {
            l.places.push_back({std::move(field), 0});
        }
        for (const auto& [field, left] : server.redis().in_line(name, server.wall_clock())) {
            const auto p = place_of(l, field);
            if (p != l.places.end()) {
                p->until = server.wall_clock() / 1000 + left;
            }
        }
        note_scores(l, name);
        return true;
    }

    static std::vector<place>::iterator place_of(lock_line& l, const std::string& field) {
        return std::find_if(l.places.begin(), l.places.end(),
                            [&](const place& other) { return other.field == field; });
    }

    static void ask(lock_line& l, const std::string& field, std::int64_t now, std::int64_t until) {
        const auto p = place_of(l, field);
        if (p == l.places.end()) {
            l.places.push_back({field, until});
        } else {
            p->late = p->late || p->until <= now;
            p->until = until;
        }
    }

    /// Of Redisson: it is told that it may take the lock, if it is there to be told.
    void look_at_first(std::size_t lock, const lock_line& l) {
        const scenario& how = all_.how();
        const bool deaf = how.may_forget() || how.has(fault::no_channel) ||
                          how.has(fault::restart) || how.has(fault::migration) ||
                          how.has(fault::role_swap);
        if (!deaf && !l.places.empty() && all_.redisson_listens(lock, l.places.front().field)) {
            violate(l.places.front().field + " is not told that the lock is free");
        }
    }

    void note_holder(lock_line& l, std::string_view key, bool unheard) {
        const std::string* holder =
            all_.server().redis().holder(key, all_.server().wall_clock());
        if (holder && *holder != l.holder) {
            granted(l, *holder, key, unheard);
        }
        l.holder = holder ? *holder : std::string{};
    }

    /// Places of Redisson last until their scores, which others change. Who isn't there any more
    /// comes to the end.
    void note_scores(lock_line& l, std::string_view key) {
        const auto scores = all_.server().redis().line_scores(key, all_.server().wall_clock());
        std::erase_if(l.places, [&](place& p) {
            const auto own = std::find_if(scores.begin(), scores.end(),
                                          [&](const auto& s) { return s.first == p.field; });
            const bool there = own != scores.end();
            if (there && all_.is_foreign(p.field)) {
                p.until = own->second;
            }
            return !there && all_.is_foreign(p.field);
        });
    }

    void granted(lock_line& l, const std::string& to, std::string_view key, bool unheard) {
        const std::int64_t now = all_.server().wall_clock() / 1000;
        const auto own = place_of(l, to);
        const bool known = own != l.places.end();
        if (!known || !own->late) {
            for (auto p = l.places.begin(); p != own; ++p) {
                if (!p->late && p->until > now) {
                    violate(to + " gets the lock before " + p->field);
                }
            }
        }
        if (unheard) {
            const std::int64_t left = all_.server().redis().left(key, all_.server().wall_clock());
            if (!known || left < 0 || now + left > own->until) {
                violate(to + " is given the lock for longer than its place");
            }
        }
        if (known) {
            l.places.erase(own);
        }
    }

    std::map<std::size_t, lock_line> lines_{};
};

}  // namespace

std::unique_ptr<checker> make_line(simulation& s) { return std::make_unique<line>(s); }

}  // namespace conch::sim
