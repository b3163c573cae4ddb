// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/simulation.hpp"

#include "sim/majority/faults.hpp"

#include <algorithm>
#include <string>

namespace conch::sim::majority {
namespace {

constexpr std::unique_ptr<checker> (*makers[])(simulation&) = {
    make_exclusion, make_ownership, make_loss_in_time, make_no_needless_loss, make_bounds,
    make_healing,   make_liveness,  make_contention,   make_answers,          make_terms,
    make_releases,  make_rest,      make_all_or_none,  make_noticed,
};

}  // namespace

const impl::view_ptr& held::part(std::size_t place) const {
    static const impl::view_ptr none;
    const auto& parts = static_cast<const group::view&>(*view).parts;
    const auto& all = at->places();
    const auto i = static_cast<std::size_t>(std::ranges::find(all, place) - all.begin());
    return i < all.size() ? parts[i] : none;
}

instant held::since() const {
    instant first = asked_at;
    for (const std::size_t place : at->places()) {
        if (const impl::view_ptr& of = part(place)) {
            first = std::min(first, home->born(place, *of));
        }
    }
    return first;
}

bool held::counts(std::size_t place) const {
    const impl::view_ptr& of = part(place);
    return of && of->lost.load() == 0 && home->local_now() < impl::end_of(*of);
}

bool held::was_granted_since(instant then) const {
    return granted_at >= then || std::ranges::any_of(at->places(), [&](std::size_t place) {
               const impl::view_ptr& of = part(place);
               return of && home->granted(place, *of) >= then;
           });
}

void checker::violate(std::string_view what) { all_.violate(name(), what); }

simulation::simulation(std::uint64_t seed, bool print)
    : course{seed, print},
      more_{~seed},
      how_{world_.chance, dice{more_.seed()}},
      forces_(how_.names) {
    for (std::size_t i = 0; i < how_.servers; ++i) {
        machine& m = machines_.emplace_back();
        m.server = std::make_unique<server_node>(
            world_, fake_redis::settings{.seed = world_.chance.seed()});
        m.net = std::make_unique<network>(world_, *m.server, how_.net);
        m.server->use(*m.net);
    }
    locks_ = std::make_unique<standing>(*this, seed);
    for (std::size_t i = 0; i < how_.processes; ++i) {
        add_process();
    }
    for (const auto make : makers) {
        checkers_.push_back(make(*this));
    }
    faults_ = std::make_unique<fault_injector>(*this);
}

simulation::~simulation() { processes_.clear(); }

void simulation::add_process() {
    processes_.push_back(std::make_unique<process>(*this, processes_.size()));
    for (std::size_t i = 0; i < how_.users; ++i) {
        users_.push_back(std::make_unique<user>(*this, *processes_.back(), users_.size()));
        users_.back()->start();
    }
}

instant simulation::leases_end() const noexcept {
    instant behind = 0;
    for (const machine& m : machines_) {
        behind = std::max(behind, m.server->set_back());
    }
    return settled_at_ + longest_extension * how_.longest_lease.count() * 103 / 100 + behind;
}

call& simulation::begin_call(user& by, call::kind what, group_node& at) {
    call& c = calls_.emplace_back();
    c.what = what;
    c.by = &by;
    c.at = &at;
    c.name = at.name();
    c.asked_at = world_.now();
    forces_[c.name].running += what == call::kind::force ? 1 : 0;
    for (const auto& check : checkers_) {
        check->asked(c);
    }
    return c;
}

held& simulation::granted(call& c, group_node& at) {
    ++outcome_.grants;
    held& h = holds_.emplace_back();
    h.home = &c.by->home();
    h.by = c.by;
    h.at = &at;
    h.name = c.name;
    h.view = std::move(c.view);
    h.options = c.options;
    h.lease = *c.options.lease;
    h.asked_at = c.asked_at;
    h.granted_at = world_.now();
    for (const auto& check : checkers_) {
        check->granted(h);
    }
    return h;
}

bool simulation::forgot(std::size_t place, std::size_t name, instant since) {
    const server_node& s = server_of(place);
    return std::max(s.last_loss(spec(name, place)->name()), s.set_forward_at()) >= since;
}

bool simulation::may_lack(const held& h, std::size_t place) {
    impl::hold_view& part = *h.part(place);
    const instant born = h.home->born(place, part);
    const std::string field = locks_->told_as(h.name, place, h.home->field_of(place, part));
    return forgot(place, h.name, born) || forced(h.name, born) ||
           others_.took(h.name, place, field, born);
}

std::size_t simulation::intact(const held& h, instant by) {
    return static_cast<std::size_t>(std::ranges::count_if(h.at->places(), [&](std::size_t place) {
        return h.counts(place) && h.home->granted(place, *h.part(place)) < by &&
               !may_lack(h, place);
    }));
}

const process* simulation::process_of(std::size_t place, const std::string& field) const noexcept {
    const auto home = std::ranges::find_if(
        processes_, [&](const auto& p) { return field.starts_with(p->node(place).id()); });
    return home == processes_.end() ? nullptr : home->get();
}

bool simulation::forced(std::size_t name, instant since) const noexcept {
    return forces_[name].running > 0 || forces_[name].last_end >= since;
}

void simulation::replace(process& p, bool heard, effect* e) {
    if (p.dead() || !may_crash()) {
        return;
    }
    for (const auto& u : users_) {
        if (&u->home() == &p) {
            feel(u->idle() ? nullptr : e);
            u->die();
        }
    }
    // What it has sent to take a lock away knows only holders of that time.
    for (const call& c : calls_) {
        if (&c.by->home() == &p && c.what == call::kind::force && c.completions == 0) {
            --forces_[c.name].running;
            forces_[c.name].last_end = world_.now();
        }
    }
    others_.died(p);
    std::erase_if(holds_, [&](const held& h) { return h.home == &p; });
    p.die(heard);
    add_process();
}

void simulation::turned(process& p) {
    for (const auto& check : checkers_) {
        check->turned(p);
    }
}

void simulation::completed(call& c) {
    world_.note("ended", static_cast<std::uint64_t>(c.what),
                static_cast<std::uint64_t>(c.ec.value()) * 2 + (c.view ? 1 : 0));
    if (c.what == call::kind::force) {
        --forces_[c.name].running;
        forces_[c.name].last_end = world_.now();
    }
    outcome_.losses += c.what == call::kind::watch && c.ec && !c.given_up ? 1 : 0;
    for (const auto& check : checkers_) {
        check->completed(c);
    }
}

void simulation::ended(call& c) { c.by->ended(c); }

void simulation::inspect(std::uint64_t, std::uint64_t) {
    for (const auto& check : checkers_) {
        check->inspected();
    }
    if (settled()) {
        others_.remove_deserted();
    }
    world_.plan<&simulation::inspect>(world_.now() + inspection, this);
}

outcome simulation::run() {
    settled_at_ = how_.chaos + how_.settling();
    end_of_work_ = leases_end() + how_.calm;
    faults_->start();
    inspect(0, 0);
    run_until(how_.chaos);
    faults_->heal();
    run_until(end_of_work_);
    wind_down();
    return finish();
}

bool simulation::busy() const noexcept {
    return std::any_of(users_.begin(), users_.end(),
                       [](const auto& u) { return !u->home().dead() && !u->idle(); });
}

// Users leave what they have; then everything must come to rest. Whoever asks then gets the lock.
void simulation::wind_down() {
    stopped_ = true;
    world_.note("stop");
    faults_->stop();
    for (const auto& u : users_) {
        u->stop();
    }
    come_to_rest();
    probe();
}

void simulation::come_to_rest() {
    const instant last = world_.now() + 20 * seconds;
    while (busy() && world_.now() < last && !enough()) {
        run_until(world_.now() + 100 * millis);
    }
    if (busy()) {
        violate("rest", "a user still waits for an answer");
    }
    run_until(world_.now() + how_.promptness() + how_.release_pause());
    for (const auto& check : checkers_) {
        check->left();
    }
    // Keys that were left behind on purpose last for a lease.
    const instant left = how_.detaching ? leases_end() - settled_at_ : 0;
    run_until(world_.now() + left + how_.patience());
    for (const auto& check : checkers_) {
        check->rested();
    }
}

// All of them try at about the same time.
void simulation::rush(std::size_t name) {
    for (const auto& u : users_) {
        if (!u->home().dead() && u->idle()) {
            u->probe(name, {}, true);
            run_until(world_.now() + more_.between(0, how_.net.latency));
        }
    }
    come_to_rest();
}

// Rounds whose answers were late leave tries behind, of which a client has so many at most.
void simulation::ask_alone(user& u, std::size_t name) {
    const std::uint64_t before = outcome_.grants;
    u.probe(name, duration{how_.patience()});
    come_to_rest();
    const bool refused = outcome_.grants == before;
    if (refused && !(how_.crowded() && u.last_end() == errc::overloaded)) {
        violate("liveness", "a free lock is not granted to the only one who asks");
    }
}

void simulation::probe() {
    for (std::size_t name = 0; name < how_.names; ++name) {
        const auto able = std::find_if(users_.begin(), users_.end(), [this](const auto& u) {
            return !u->home().dead() && !(how_.all && u->home().is_closing());
        });
        if (able != users_.end()) {
            ask_alone(**able, name);
        }
        rush(name);
    }
}

}  // namespace conch::sim::majority
