// SPDX-License-Identifier: BSL-1.0
// A rate limit grants no more than it allows, in any window by the server's clock, or in each that
// begins with a permit, or than has come back, and refuses nobody for whom there is room; it counts
// no try twice; what a client tells is what the server said; and within one client, first come is
// first served.
#include "sim/simulation.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace conch::sim {
namespace {

class rates final : public checker {
public:
    explicit rates(simulation& s) : checker{s}, logs_(s.how().limits.size()) {}  // by key
    std::string_view name() const noexcept override { return "rates"; }

    void counted(const permit_count& c) override {
        log& l = logs_[limit(c).number_of_key];
        forget(l, c);
        switch (limit(c).kind) {
            case rate_algorithm::sliding_log: judge_sliding(l, c); break;
            case rate_algorithm::fixed_window: judge_fixed(l, c); break;
            case rate_algorithm::gcra: judge_paced(l, c); break;
        }
        l.last_wall_us = c.wall_us;
        for (std::size_t i = 0; i < c.granted; ++i) {
            once(c, c.asked[i]);
        }
        l.runs.push_back(c);
        look_at_key(c);
    }

    void ended(const call& c) override {
        if (!c.permits) {
            return;
        }
        if (!c.ec && c.permits->verdict.allowed) {
            judge_grant(c);
            judge_order(c);
        } else if (!c.ec || c.ec == errc::timed_out) {
            judge_refusal(c);
        }
    }

    void stepped() override {
        for (const auto& a : all_.askers()) {
            const call* c = all_.settled() ? a->asks_now() : nullptr;
            if (!c || c->wait == forever || c->completions != 0 || c->asked_at < 0) {
                continue;
            }
            const instant until = std::max(c->asked_at + c->wait.count(), all_.settled_at());
            if (all_.the_world().now() > until + all_.how().promptness() &&
                told_.insert(c).second) {
                violate(of(*c) + " waits for longer than it shall");
            }
        }
    }

private:
    static constexpr std::int64_t full = std::numeric_limits<std::int64_t>::max() / 2;
    static constexpr std::int64_t longest_us = 600'000'000;  ///< till all is back by any pace

    struct grant {
        std::int64_t wall_us;
        std::uint64_t permits;
    };
    struct log {
        std::deque<grant> grants{};  ///< sliding: those in the last window
        std::int64_t last_wall_us = 0;
        std::int64_t unsure_until_us = 0;  ///< the server may know of others
        instant lost_at = -1;              ///< when it lost some, as far as was looked at
        bool sure = true;                  ///< fixed: what follows is known
        std::int64_t began_ms = -1;        ///< fixed: the window; -1: none
        std::uint64_t used = 0;            ///< in it
        std::size_t last_limit = 0;        ///< paced: what the bounds are of
        bool known = true;                 ///< paced: the bounds are
        std::int64_t least = full;         ///< paced: so much is there at least, and at most; of a
        std::int64_t most = full;          ///< permit as many as the window has microseconds
        std::vector<permit_count> runs{};
    };

    static std::string of(const call& c) {
        return "the request for " + std::to_string(c.permits->permits) + " permits by client " +
               std::to_string(c.client);
    }

    const limit_terms& limit(const permit_count& c) const { return all_.how().limits[c.limit]; }

    /// What the server lost, or counts as later than now, isn't held against it; nor what ended
    /// before its clock was set back.
    void forget(log& l, const permit_count& c) {
        const instant lost_at =
            std::max(all_.last_loss(limit(c).key()), all_.server().stepped_at());
        const bool two_masters = all_.server().last_split(limit(c).key()) >= all_.the_world().now();
        if (lost_at > l.lost_at || c.wall_us < l.last_wall_us || two_masters) {
            l.lost_at = lost_at;
            l.grants.clear();
            l.unsure_until_us = std::max(c.wall_us, l.last_wall_us) + limit(c).window_ms * 1000;
            l.sure = false;
            l.known = false;
        }
    }

    void judge_sliding(log& l, const permit_count& c) {
        const limit_terms& t = limit(c);
        while (!l.grants.empty() && l.grants.front().wall_us <= c.wall_us - t.window_ms * 1000) {
            l.grants.pop_front();
        }
        for (std::size_t i = 0; i < c.granted; ++i) {
            l.grants.push_back({c.wall_us, c.asked[i]});
        }
        std::uint64_t used = 0;
        for (const grant& g : l.grants) {
            used += g.permits;
        }
        judge(c, used, c.wall_us > l.unsure_until_us);
    }

    /// A window begins with a permit; where others may have been counted, with one that is counted
    /// as its first.
    void judge_fixed(log& l, const permit_count& c) {
        const limit_terms& t = limit(c);
        const std::int64_t now_ms = c.wall_us / 1000;
        std::uint64_t taken = 0;
        for (std::size_t i = 0; i < c.granted; ++i) {
            taken += c.asked[i];
        }
        if (!l.sure && taken > 0 && c.used == taken) {
            l.sure = true;
            l.began_ms = -1;
        }
        if (!l.sure) {
            return;
        }
        if (l.began_ms >= 0 && now_ms > l.began_ms + t.window_ms) {
            l.began_ms = -1;
        }
        l.used = l.began_ms < 0 ? taken : l.used + taken;
        l.began_ms = l.began_ms < 0 && taken > 0 ? now_ms : l.began_ms;
        judge(c, l.used, true);
    }

    /// A token bucket. What another limit of the key has left comes back at the pace of that one
    /// until it is taken over, for no more than some microseconds' worth more or less.
    void judge_paced(log& l, const permit_count& c) {
        const limit_terms& t = limit(c);
        const limit_terms& before = all_.how().limits[std::exchange(l.last_limit, c.limit)];
        const std::int64_t window_us = t.window_ms * 1000;
        const std::int64_t passed =
            std::clamp<std::int64_t>(c.wall_us - l.last_wall_us, 0, longest_us);
        const std::int64_t back = passed * static_cast<std::int64_t>(before.permits());
        const std::int64_t inexact =
            &before == &t ? 0 : 2 * static_cast<std::int64_t>(before.permits() + t.permits());
        const std::int64_t more = all_of(t) - all_of(before);
        l.least = std::min(l.least + back, all_of(before)) + more - inexact;
        l.most = std::min(std::min(l.most + back, all_of(before)) + more + inexact, all_of(t));
        if (!std::exchange(l.known, true)) {
            l.least = all_of(t) - missing_at_most(t) * window_us;
            l.most = all_of(t);
        }
        const auto price = [&](std::size_t i) {
            return static_cast<std::int64_t>(c.asked[i]) * window_us;
        };
        for (std::size_t i = 0; i < c.granted; ++i) {
            if (price(i) > l.most) {
                violate("limit " + std::to_string(c.limit) + " grants " +
                        std::to_string(c.asked[i]) + " permits of " +
                        std::to_string(l.most / window_us));
            }
            l.most -= price(i);
            l.least = std::max<std::int64_t>(l.least - price(i), 0);
        }
        if (c.granted < c.asked.size() && price(c.granted) <= l.least) {
            violate("limit " + std::to_string(c.limit) + " refuses " +
                    std::to_string(c.asked[c.granted]) + " permits of " +
                    std::to_string(l.least / window_us));
        }
    }

    /// Of a permit as many as the window has microseconds.
    static std::int64_t all_of(const limit_terms& t) noexcept {
        return static_cast<std::int64_t>(t.at_once() * limit_terms::unit) * t.window_ms * 1000;
    }

    /// Whoever took them.
    std::int64_t missing_at_most(const limit_terms& of) const {
        std::uint64_t most = 0;
        for (const limit_terms& t : all_.how().limits) {
            most = std::max(most, t.number_of_key == of.number_of_key ? t.at_once() : 0);
        }
        return static_cast<std::int64_t>(most * limit_terms::unit);
    }

    void judge(const permit_count& c, std::uint64_t used, bool sure) {
        const std::uint64_t most = limit(c).permits();
        if (c.granted > 0 && used > most) {  // else by a higher limit of the same key
            violate("limit " + std::to_string(c.limit) + " has granted " + std::to_string(used) +
                    " permits of " + std::to_string(most));
        }
        if (sure && c.granted < c.asked.size() && used + c.asked[c.granted] <= most) {
            violate("limit " + std::to_string(c.limit) + " refuses " +
                    std::to_string(c.asked[c.granted]) + " permits, with " + std::to_string(used) +
                    " of " + std::to_string(most) + " in use");
        }
    }

    /// Its number tells the request.
    void once(const permit_count& c, std::uint64_t permits) {
        const call& by = all_.calls()[place_of(permits)];
        if (!granted_.insert_or_assign(permits, c.at).second && by.try_only) {
            violate(of(by) + " is counted twice");
        }
    }

    static std::size_t place_of(std::uint64_t permits) noexcept {
        return (limit_terms::unit - permits % limit_terms::unit) % limit_terms::unit;
    }

    void look_at_key(const permit_count& c) {
        server_node& server = all_.server();
        const std::string& key = all_.limit(c.limit)->name();
        const std::int64_t left = server.redis().left(key, server.wall_clock());
        const limit_terms& t = limit(c);
        std::int64_t all_back_ms = t.window_ms;
        if (t.kind == rate_algorithm::gcra) {  // at the pace of who asked last
            for (const limit_terms& other : all_.how().limits) {
                if (other.number_of_key == t.number_of_key) {
                    const auto pace = static_cast<std::int64_t>(other.permits());
                    all_back_ms =
                        std::max(all_back_ms, missing_at_most(t) * t.window_ms / pace + 1);
                }
            }
        }
        if (left == -1 || left > all_back_ms + 1) {
            violate("the key of limit " + std::to_string(c.limit) + " outlives its window");
        }
    }

    void judge_grant(const call& c) {
        const auto it = granted_.find(c.permits->permits);
        if (it == granted_.end() || it->second < c.asked_at) {
            violate(of(c) + " is told as granted, which the server didn't");
        }
        const rate_verdict& v = c.permits->verdict;
        if (v.count < c.permits->permits || v.count > v.limit || v.remaining != v.limit - v.count) {
            violate(of(c) + " is told a wrong count: " + std::to_string(v.count));
        }
    }

    /// The last that the server said to this client was no, and holds: for who waited for too
    /// short, until its wait is over; for who waited to the end, until then.
    void judge_refusal(const call& c) {
        const client_node& node = *all_.clients()[c.client];
        const log& l = logs_[all_.how().limits[c.permits->limit].number_of_key];
        const auto last = std::find_if(l.runs.rbegin(), l.runs.rend(), [&](const permit_count& r) {
            return r.limit == c.permits->limit && r.client == c.client &&
                   r.granted < r.asked.size();
        });
        const bool tried =
            last != l.runs.rend() && (!c.try_only || last->at >= c.asked_at || came_second(c));
        if (!tried) {
            violate(of(c) + " is refused by nobody");
            return;
        }
        if (c.try_only) {
            return;
        }
        const time_point end = node.local(c.asked_at) + c.wait;
        const duration retry = c.permits->verdict.retry_after;
        if (node.local(c.ended_at) < end && node.local(c.ended_at) + retry + tolerance < end) {
            violate(of(c) + " is given up too early");
        }
        if (c.asked_at >= all_.settled_at() &&
            last->at + last->retry_ms * millis + all_.how().promptness() < c.ended_at) {
            violate(of(c) + " waits for what the server wasn't asked for any more");
        }
    }

    /// Another was asked for when it came: the refusal of that is its own, too.
    bool came_second(const call& c) const {
        const auto first = all_.calls().rend() - static_cast<std::ptrdiff_t>(c.place);
        return std::any_of(first, all_.calls().rend(), [&](const call& other) {
            return other.permits && other.client == c.client &&
                   other.permits->limit == c.permits->limit &&
                   (other.completions == 0 || other.ended_at >= c.asked_at);
        });
    }

    void judge_order(const call& c) {
        for (const auto& a : all_.askers()) {
            const call* other = a->client() == c.client ? a->asks_now() : nullptr;
            if (other && other->permits->limit == c.permits->limit && other->place < c.place &&
                (other->completions == 0 || other->ended_at > c.ended_at)) {
                violate(of(c) + " is granted before one that came earlier");
            }
        }
    }

    static constexpr duration tolerance = std::chrono::milliseconds{1};

    std::vector<log> logs_;
    std::map<std::uint64_t, instant> granted_{};  // the last time
    std::set<const call*> told_{};
};

}  // namespace

std::unique_ptr<checker> make_rates(simulation& s) { return std::make_unique<rates>(s); }

}  // namespace conch::sim
