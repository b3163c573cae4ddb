// SPDX-License-Identifier: BSL-1.0
// When the faults are over, a read-write lock that admits the first waiter of a client is granted
// to it within two round trips and the turn of others; where no release told of it, a poll later.
// It admits a reader where nobody writes and no writer is announced, and a writer where nobody
// holds it. The field of a reader that crashed is in nobody's way once its lease is over.
#include "sim/check/opening.hpp"
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

class lets_in final : public checker {
public:
    explicit lets_in(simulation& s) : checker{s}, locks_(s.how().read_write ? s.how().names : 0) {}
    std::string_view name() const noexcept override { return "lets_in"; }

    void ran(const script_run& r) override {
        const auto name = all_.name_in(r);
        if (locks_.empty() || !name) {
            return;
        }
        lock& l = locks_[*name];
        // Where the lease was over before, nobody is told.
        const bool told = (r.is("release") && r.answer.integer >= 0) ||
                          (r.is("downgrade") && r.answer.integer > 0);
        if (told && r.answer.what == reply::kind::integer) {
            l.told_at = r.at;
        }
        if (const auto f = l.fronts.find(r.client); f != l.fronts.end() && r.is("acquire")) {
            note_answer(r, f->second);
        }
    }

    void told_to_all(std::size_t name) override { locks_[name].told_at = all_.the_world().now(); }

    void stepped() override {
        for (std::size_t name = 0; name < locks_.size(); ++name) {
            look(name);
        }
    }

private:
    struct lock {
        opening to_readers{};
        opening to_writers{};
        instant told_at = -1;                   ///< when who waits was last to be told of a release
        std::map<std::string, instant> left{};  ///< fields that nobody tends, since when
        std::map<std::uint64_t, front> fronts{};  ///< by client
    };

    /// "Busy" counts once. What was granted may come too late, and be asked for again.
    static void note_answer(const script_run& r, front& f) {
        const bool busy =
            r.answer.what == reply::kind::integer || r.answer.what == reply::kind::array;
        const bool own = f.of->shared == (r.script == "shared_read");
        if ((busy && own && f.answered_at < 0) || r.answer.what == reply::kind::bulk) {
            f.answered_at = r.at;
        }
    }

    void look(std::size_t name) {
        server_node& server = all_.server();
        const std::string key{all_.spec(name)->name()};
        const auto fields = server.redis().fields(key, server.wall_clock());
        lock& l = locks_[name];
        bool written = false;
        bool held = false;
        for (const std::string& f : fields) {
            const bool there = !is_over(l, name, f);
            held = held || there;
            written = written || (there && f.ends_with(":write"));
        }
        const bool announced = server.redis().exists(writer_key(key), server.wall_clock());
        const bool told = l.told_at == all_.the_world().now();
        const bool foreign = server.redis().is_foreign(key, server.wall_clock());
        // A stranger took its expiry away: it ends with the last reader, or at a writer's try.
        const bool lasts = server.redis().left(key, server.wall_clock()) == -1;
        l.to_readers.look(!written && !announced && !lasts, told, all_.the_world().now(), poll());
        l.to_writers.look(!held && !foreign, told && fields.empty(), all_.the_world().now(),
                          poll());
        for (const auto& c : all_.clients()) {
            look_at_front(l, name, *c);
        }
    }

    /// No one but its lease, which is over by now, speaks for it.
    bool is_over(lock& l, std::size_t name, const std::string& field) {
        if (all_.is_dead_reader(name, field)) {
            return true;
        }
        if (!all_.deserted(field)) {
            return false;
        }
        const instant now = all_.the_world().now();
        if (lasts(name, field)) {
            l.left.insert_or_assign(field, now);
            return false;
        }
        const instant lease = all_.how().longest_extension().count() * 102 / 100;
        return now - l.left.emplace(field, now).first->second >
               lease + all_.server().set_back() + tolerance;
    }

    /// A stranger took away the end of its lease.
    bool lasts(std::size_t name, const std::string& field) {
        server_node& server = all_.server();
        const std::string lock{all_.spec(name)->name()};
        const bool writes = field.ends_with(":write");
        return server.redis().left(writes ? lock : timeout_key(lock, field), server.wall_clock()) ==
               -1;
    }

    void look_at_front(lock& l, std::size_t name, const client_node& c) {
        const call* const first =
            c.running() && !c.closing() ? all_.first_in_queue(c.index(), name) : nullptr;
        if (!first) {
            l.fronts.erase(c.index());
            return;
        }
        const instant now = all_.the_world().now();
        front& f = l.fronts[c.index()];
        if (f.of != first) {
            f = {.of = first, .since = now};
        }
        if (is_blocked(*first)) {
            f.blocked_at = now;
        }
        const opening& o = first->shared ? l.to_readers : l.to_writers;
        const instant due = std::max(f.due(o, poll()), all_.settled_at());
        if (all_.settled() && o.open() && now > due + all_.how().promptness()) {
            violate("user " + std::to_string(first->user) + " waits to " +
                    (first->shared ? "read" : "write") + " lock " + std::to_string(name) +
                    ", which it could since " + std::to_string((now - o.since()) / micros) + " us");
            f.since = f.blocked_at = now;
        }
    }

    bool is_blocked(const call& c) const {
        const time_point now = all_.clients()[c.client]->local_now();
        return std::any_of(all_.holds().begin(), all_.holds().end(), [&](const held& h) {
            return h.client == c.client && h.name == c.name && h.owns_lock(now) &&
                   !(c.shared && all_.reads(h));
        });
    }

    /// By a clock that drifts.
    instant poll() const noexcept {
        return all_.how().settings.max_poll_interval.count() * 102 / 100 + tolerance;
    }

    static constexpr instant tolerance = 10 * millis;

    std::vector<lock> locks_;
};

}  // namespace

std::unique_ptr<checker> make_lets_in(simulation& s) { return std::make_unique<lets_in>(s); }

}  // namespace conch::sim
