// SPDX-License-Identifier: BSL-1.0
#include "sim/simulation.hpp"

#include "core/time.hpp"
#include "hold/acquisition.hpp"
#include "sim/closer.hpp"
#include "sim/faults.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace conch::sim {

void checker::violate(std::string_view what) { all_.violate(name(), what); }

// The engines know the calls.
simulation::~simulation() { clients_.clear(); }

call& simulation::begin_call(std::uint64_t user) {
    call& c = calls_.emplace_back();
    c.client = users_[user]->client();
    c.user = user;
    c.place = calls_.size() - 1;
    return c;
}

call& simulation::begin_permits(std::uint64_t client) {
    call& c = calls_.emplace_back();
    c.client = client;
    c.place = calls_.size() - 1;
    c.permits.emplace();
    return c;
}

call& simulation::begin_unlock(const held& h, bool alone) {
    call& c = begin_call(h.user);
    c.unlocks = unlocking{.of = h,
                          .asked_at = world_.now(),
                          .connects = clients_[h.client]->engine().counters().connects,
                          .alone = alone};
    for (const auto& check : checkers_) {
        check->unlocks(c);
    }
    return c;
}

void simulation::asks(call& c) {
    c.asked_at = world_.now();
    for (const auto& check : checkers_) {
        check->asks(c);
    }
}

const call* simulation::first_in_queue(std::uint64_t client, std::size_t name) const noexcept {
    const call* first = nullptr;
    for (const auto& u : users_) {
        const call* const c = u->client() == client ? u->queued_for(name) : nullptr;
        if (c && c->completions == 0 && (!first || c->place < first->place)) {
            first = c;
        }
    }
    return first;
}

held& simulation::granted(user& by, std::size_t name, call& c, const lock_options& options) {
    ++outcome_.grants;
    held& h = holds_.emplace_back();
    const client_node& node = *clients_[by.client()];
    h.client = by.client();
    h.user = by.index();
    h.name = name;
    h.shared = c.shared;
    h.view = std::move(c.view);
    h.asked_at = by.wants_since();
    h.granted_at = world_.now();
    h.number = c.number;
    // Turns `valid_until` into the time at which the attempt left. Later renewals have moved it on:
    // then the hold seems younger by as much, and is excused less often.
    const std::pair key{h.client, h.number};
    auto first = first_.find(key);
    // What was passed on as it is may have been extended before, by more than this lease.
    const duration lease = first == first_.end()
                               ? lock::clamped_lease(*options.lease, options.max_hold)
                               : std::max(*options.lease, how_.longest_extension());
    const lock::level* const level = lock::level_of(*h.view);
    const bool given = level && level->of->given;  // with its place in line, by who released it
    const time_point sent = h.valid_until() - (lease - core::drift_margin(lease));
    h.sent_at = std::min(node.true_time(std::max(sent, node.local(0))), h.granted_at);
    // A deeper level is as old as the outermost one, and goes by its terms.
    const bool renews = *options.renew && options.max_hold == forever;
    const duration renewed = renews ? *options.lease : duration{};
    if (first == first_.end()) {
        const terms own{h.sent_at, given ? h.granted_at : h.sent_at, options.max_hold, renewed,
                        options.progress_within};
        first = first_.emplace(key, own).first;
    } else if (!how_.nesting) {
        first->second = {h.sent_at, c.ended_at, options.max_hold, renewed, options.progress_within};
    }
    h.sent_at = first->second.sent_at;
    h.began_at = first->second.began_at;
    h.max_hold = first->second.max_hold;
    h.renewed_lease = first->second.renewed_lease;
    h.progress_within = first->second.progress_within;
    h.reported = node.local(c.ended_at);
    h.granted_until = h.valid_until();
    for (const auto& check : checkers_) {
        check->granted(h);
    }
    return h;
}

bool simulation::passed_on(const held& h, instant turn) const noexcept {
    return !how_.nesting && std::any_of(calls_.rbegin(), calls_.rend(), [&](const call& c) {
        return c.acquires && c.client == h.client && c.number == h.number && c.ended_at == turn;
    });
}

bool simulation::was_joined(const held& h) const {
    return reads(h) && std::any_of(calls_.begin(), calls_.end(), [&](const call& c) {
               return c.acquires && c.client == h.client && c.number == h.number &&
                      c.user != h.user;
           });
}

void simulation::end_force(std::size_t name, std::uint64_t client) {
    forces& f = forces_[name];
    f.last_end = world_.now();
    if (--f.running[client] == 0) {
        f.running.erase(client);
    }
}

std::optional<std::size_t> simulation::name_in(const script_run& r) const noexcept {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        if (r.keys.front() == specs_[i]->name() &&
            r.script.starts_with("value_") ==
                (&specs_[i]->protocol() == &protocol::value_lock_protocol)) {
            return i;
        }
    }
    return std::nullopt;
}

void simulation::ran(const script_run& r) {
    // A forced release begins with the question who holds the lock: that one alone it may end.
    const auto name = name_in(r);
    note_downgrade(r);
    if (name && r.is("status") && forces_[*name].running.contains(r.client)) {
        note_targets(r);
    }
    if (name && forces_[*name].spoilt_by != nullptr &&
        server_.redis().is_foreign(r.keys.front(), server_.wall_clock())) {
        forces_[*name].spoilt_by->felt();
    }
    for (const auto& check : checkers_) {
        check->ran(r);
    }
}

// Those of a read-write lock stand in one text, with blanks between.
void simulation::note_targets(const script_run& r) {
    if (r.answer.items.size() < 4) {
        return;
    }
    std::istringstream holders{r.answer.items[2].text};
    for (std::string field; holders >> field;) {
        targets_.emplace(r.client, field);
    }
}

void simulation::redisson_ran(std::size_t name, const std::string& field) {
    for (const auto& check : checkers_) {
        check->redisson_ran(name, field);
    }
}

bool simulation::redisson_listens(std::size_t name, const std::string& field) const {
    return std::any_of(redisson_threads_.begin(), redisson_threads_.end(),
                       [&](const auto& t) { return t->listens(name, field); });
}

std::string simulation::field_of(const held& h) const {
    return reader_of(h) + (how_.read_write && !reads(h) ? ":write" : "");
}

std::string simulation::reader_of(const held& h) const {
    return clients_[h.client]->id() + ":" + std::to_string(h.number);
}

// "...00<client>:<number>"
simulation::owner_of simulation::owner_in(const std::string& field) noexcept {
    const std::size_t colon = field.find(':');
    return {.client = static_cast<std::uint64_t>(field[colon - 1] - '0'),
            .number = std::strtoull(field.c_str() + colon + 1, nullptr, 10)};
}

void simulation::ended(std::uint64_t, call& c) {
    world_.note("ended", c.user, static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.view ? 1 : 0));
    for (const auto& check : checkers_) {
        check->ended(c);
    }
    if (c.permits) {
        outcome_.permits += c.permits->verdict.allowed ? 1 : 0;
        c.permits->by->ended();
    } else {
        users_[c.user]->ended(c);
    }
}

void simulation::turned(std::uint64_t client) {
    for (const auto& check : checkers_) {
        check->turned(client);
    }
}

void simulation::run_until(instant until) {
    while (!enough() && world_.step(until)) {
        for (const auto& check : checkers_) {
            check->stepped();
        }
    }
}

outcome simulation::run() {
    end_of_work_ = how_.chaos + how_.settling() + how_.calm;
    settled_at_ = how_.chaos + how_.settling();
    faults_->start();
    if (closer_) {
        closer_->start();
    }
    run_until(how_.chaos);
    faults_->heal();
    run_until(settled_at_);
    expire_deserted();
    if (how_.has(fault::vandal)) {
        spoil_one_of_two();
    }
    run_until(end_of_work_);
    wind_down();
    return finish();
}

// Best where its renewals go together with those of another: they must not suffer.
void simulation::spoil_one_of_two() {
    while (!one_of_two() && world_.now() < settled_at_ + 2 * seconds && !enough()) {
        run_until(world_.now() + 50 * millis);
    }
    const std::size_t name = one_of_two().value_or(world_.chance.below(how_.names));
    vandalize(name, &attempt(fault::vandal));
}

std::optional<std::size_t> simulation::one_of_two() const {
    const auto renewed = [&](const held& h) {
        const client_node& c = *clients_[h.client];
        return h.renewed_lease == how_.longest_lease && h.owns_lock(c.local_now());
    };
    for (const held& h : holds_) {
        const auto with = std::find_if(holds_.begin(), holds_.end(), [&](const held& other) {
            return other.client == h.client && other.name != h.name && renewed(other);
        });
        if (renewed(h) && with != holds_.end()) {
            return h.name;
        }
    }
    return std::nullopt;
}

// Users leave what they have; then everything must come to rest.
void simulation::wind_down() {
    stopped_ = true;
    world_.note("stop");
    for (std::size_t name = 0; name < how_.names; ++name) {
        restore(name);
    }
    for (const auto& u : users_) {
        u->stop();
    }
    for (const auto& a : askers_) {
        a->stop();
    }
    for (const auto& t : redisson_threads_) {
        t->stop();
    }
    const instant last = world_.now() + 40 * seconds;
    const auto busy = [&] {
        const auto any = [&](const auto& all) {
            return std::any_of(all.begin(), all.end(), [&](const auto& u) {
                return !clients_[u->client()]->dead() && !u->idle();
            });
        };
        return any(users_) || any(askers_);
    };
    while (busy() && world_.now() < last && !enough()) {
        run_until(world_.now() + 100 * millis);
    }
    expire_deserted();
    come_to_rest();
    for (const auto& check : checkers_) {
        check->rested();
    }
    if (busy()) {
        violate("rest", "a user still waits for an answer");
    }
}

// Keys that were left behind on purpose, or whose release the server forgot, last for a lease. So
// do releases of what an old connection may still run, to a master that is left by now, so that
// nobody ends it there. Everything else is gone after two round trips.
void simulation::come_to_rest() {
    const bool leases_end = how_.may_forget() || how_.has(fault::crash) || how_.closing ||
                            how_.run_as == deployment::cluster || how_.replaces_servers() ||
                            how_.detaching || how_.has(fault::persist) || how_.has(fault::no_kill);
    // A late copy may have had a place for so long, and again, and then the lock.
    const duration place = how_.fair ? 6 * how_.settings.max_poll_interval : duration{};
    const instant leases =
        leases_end ? (how_.longest_extension() + place).count() * 102 / 100 + server_.set_back()
                   : 0;
    // A release that met something else asks again after at most a second.
    const instant pause = how_.mixes_types() ? 1100 * millis : 0;
    run_until(world_.now() + leases + pause + how_.promptness() + 10 * millis);
    const std::uint64_t scripts = server_.redis().scripts_run();
    run_until(world_.now() + how_.longest_lease.count());
    if (server_.redis().scripts_run() != scripts) {
        violate("rest", "scripts are run that nobody asked for");
    }
}

}  // namespace conch::sim
