// SPDX-License-Identifier: BSL-1.0
// No reader is granted a read-write lock while the server knows of a writer that waits for it. It
// knows of one, as long as nothing goes wrong, from the first "busy" that the writer is told until
// some writer gets the lock; that one takes the word back for all, until they ask again.
#include "sim/simulation.hpp"

#include <chrono>
#include <set>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class makes_way final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "makes_way"; }

    void ran(const script_run& r) override {
        const auto lock = all_.name_in(r);
        if (lock && r.script == "shared_write") {
            tried_to_write(r, *lock);
        } else if (lock && r.script == "shared_read" && r.answer.what == reply::kind::bulk &&
                   seen_.insert(std::string{r.args.front()}).second) {
            reads(r, *lock);  // a script that ran again finds what it took before
        }
    }

    void stepped() override {
        std::erase_if(waiting_, [&](const auto& w) { return !waits(w.first, w.second); });
    }

private:
    void tried_to_write(const script_run& r, std::size_t lock) {
        const bool busy =
            r.answer.what == reply::kind::integer || r.answer.what == reply::kind::array;
        if (busy && r.args[2] != "0" && waits(lock, r.client) && may_be_judged()) {
            waiting_.emplace(lock, r.client);
        } else if (r.answer.what == reply::kind::bulk) {
            std::erase_if(waiting_, [&](const auto& w) { return w.first == lock; });
        }
    }

    void reads(const script_run& r, std::size_t lock) {
        const auto first = waiting_.lower_bound({lock, 0});
        if (all_.server().has(r.line, r.keys[2])) {
            violate(std::string{r.args.front()} + " reads though a writer waits");
        } else if (first != waiting_.end() && first->first == lock) {
            violate(std::string{r.args.front()} + " reads though client " +
                    std::to_string(first->second) + " waits to write, and has asked");
        }
    }

    /// Whoever is first of a client's waiters.
    bool waits(std::size_t lock, std::uint64_t client) const {
        const call* const c = all_.first_in_queue(client, lock);
        return c && !c->shared && c->wait > duration::zero();
    }

    /// What the writer says lasts until it asks again: also after a turn of others.
    bool may_be_judged() const {
        const scenario& how = all_.how();
        const bool calm = !how.disconnects() && !how.may_forget() && !how.refuses() &&
                          !how.replaces_servers() && !how.has(fault::migration);
        const instant least = 2 * how.net.worst_latency() + 100 * millis;
        return (calm || all_.settled()) && !how.is_slow() &&
               how.settings.max_poll_interval.count() >= least;
    }

    std::set<std::string> seen_{};
    std::set<std::pair<std::size_t, std::uint64_t>> waiting_{};  // for which locks, which clients
};

}  // namespace

std::unique_ptr<checker> make_makes_way(simulation& s) { return std::make_unique<makes_way>(s); }

}  // namespace conch::sim
