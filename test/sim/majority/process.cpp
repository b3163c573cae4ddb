// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/process.hpp"

#include "hold/acquisition.hpp"
#include "hold/level.hpp"
#include "sim/majority/simulation.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace conch::sim::majority {
namespace {

// They differ where the ids of permits take them from.
std::string id_of(std::size_t process, std::size_t server) {
    return "000000" + std::to_string(process) + std::to_string(server) +
           "-0000-0000-0000-000000000000";
}

// All, where a majority of them is needed.
std::vector<std::size_t> some_places(const scenario& how, dice& chance) {
    std::vector<std::size_t> some(how.places());
    std::iota(some.begin(), some.end(), std::size_t{0});
    if (how.all && !chance.once_in(2)) {
        const std::size_t one = chance.below(how.places());
        std::erase_if(some, [&](std::size_t p) { return p != one && chance.once_in(2); });
    }
    return some;
}

const error_code withdrawn =
    boost::system::errc::make_error_code(boost::system::errc::operation_canceled);

}  // namespace

process::process(simulation& all, std::size_t index)
    : all_{all}, index_{index}, began_at_{all.the_world().now()}, inboxes_(all.how().servers) {
    dice& chance = all.the_world().chance;
    const std::int64_t drift = chance.between(-10'000, 10'000);
    const client_node::clock_settings clock{
        .drift_ppm = chance.once_in(3) ? 0 : drift,
        .ahead = std::chrono::seconds{3600 + 100 * static_cast<std::int64_t>(index)}};
    for (std::size_t i = 0; i < all.how().servers; ++i) {
        ports_.emplace_back(*this);
        nodes_.push_back(std::make_unique<client_node>(all.the_world(), all.net(i), ports_.back(),
                                                       all.how().settings, clock, id_of(index, i),
                                                       chance.seed()));
    }
    for (std::size_t i = 0; i < all.how().names * all.how().groups; ++i) {
        groups_.push_back(std::make_unique<group_node>(
            *this, i % all.how().names, some_places(all.how(), chance), chance.seed()));
    }
}

process::~process() {
    ending_ = true;
    groups_.clear();
    nodes_.clear();  // before the questions: an engine that ends answers them
}

std::uint64_t process::number_of(impl::hold_view& part) noexcept {
    const lock::level* const l = lock::level_of(part);
    return l ? l->of->number : 0;
}

std::string process::field_of(std::size_t place, impl::hold_view& part) const {
    return node(place).id() + ":" + std::to_string(number_of(part));
}

instant process::born(std::size_t place, impl::hold_view& part) const {
    const auto it = born_.find({place, number_of(part)});
    return it != born_.end() ? it->second.asked_at : all_.the_world().now();
}

instant process::granted(std::size_t place, impl::hold_view& part) const {
    const auto it = born_.find({place, number_of(part)});
    return it != born_.end() ? it->second.granted_at : all_.the_world().now();
}

void process::port::turned(std::uint64_t) { home.all_.turned(home); }

bool process::running() const noexcept {
    return !dead() && paused_until_ <= all_.the_world().now();
}

instant process::put_off() noexcept {
    nodes_.front()->put_off();
    return paused_until_;
}

instant process::hangs_until() const noexcept {
    instant last = 0;
    for (const auto& n : nodes_) {
        last = std::max(last, n->paused_until());
    }
    return last;
}

bool process::is_closing() const noexcept {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->closing(); });
}

void process::pause(instant until, effect* e) {
    paused_until_ = std::max(paused_until_, until);
    for (const auto& n : nodes_) {
        n->pause(until, e);
    }
}

void process::die(bool heard) {
    for (const auto& n : nodes_) {
        n->die(heard);
    }
}

// What was put off goes on now.
void process::heal() {
    if (dead()) {
        return;
    }
    const instant now = all_.the_world().now();
    const bool stood_still = std::exchange(paused_until_, std::min(paused_until_, now)) > now;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i]->running()) {
            nodes_[i]->heal();
            all_.the_world().plan<&process::deliver>(now, this, i);
        }
    }
    for (std::size_t i = 0; stood_still && i < groups_.size(); ++i) {
        groups_[i]->go_on();
    }
}

question& process::ask(group_node& by, std::size_t place, std::uint64_t id, question::kind what) {
    question& q = questions_.emplace_back(question{what, &by, place, id});
    q.of.place = questions_.size() - 1;
    q.asked_at = all_.the_world().now();
    open_.emplace(std::pair{&by, id}, &q);
    inbox_for(place).asked.push_back(&q);
    wake(place);
    return q;
}

void process::force_at(std::size_t name, std::size_t place, std::size_t number) {
    question& q = questions_.emplace_back(
        question{question::kind::force, groups_[name].get(), place, number});
    q.by_stranger = true;
    q.of.place = questions_.size() - 1;
    q.asked_at = all_.the_world().now();
    inbox_for(place).asked.push_back(&q);
    wake(place);
}

void process::withdraw(group_node& by, std::uint64_t id) noexcept {
    const auto it = open_.find({&by, id});
    if (!ending_ && it != open_.end()) {
        inbox_for(it->second->place).cancelled.push_back(it->second);
        wake(it->second->place);
    }
}

void process::give_up(std::size_t place, const impl::view_ptr& hold,
                      impl::hold_request how) noexcept {
    if (!ending_) {
        hold->asked.store(how);
        inbox_for(place).holds.emplace_back(hold, how);
        wake(place);
    }
}

void process::wake(std::size_t place) noexcept {
    if (!std::exchange(inbox_for(place).woken, true)) {
        world& w = all_.the_world();
        const instant later = w.chance.once_in(4) ? w.chance.between(0, 3 * millis) : instant{0};
        w.plan<&process::deliver>(w.now() + later, this, place % nodes_.size());
    }
}

void process::deliver(std::uint64_t server, std::uint64_t) {
    if (dead()) {
        return;
    }
    if (!running() || !node(server).running()) {
        const instant then = std::max(running() ? 0 : put_off(),
                                      node(server).running() ? 0 : node(server).put_off());
        all_.the_world().plan<&process::deliver>(then, this, server);
        return;
    }
    const inbox in = std::exchange(inboxes_[server], {});
    client_node& to = node(server);
    to.turn([&] {
        for (const auto& [hold, how] : in.holds) {
            if (how == impl::hold_request::detach) {
                to.engine().detach(*hold);
            } else {
                to.engine().release(*hold);
            }
        }
        const auto cancel = [&](question& q) {
            if (q.of.completions == 0 && q.of.running) {
                to.engine().cancel(*q.of.running, withdrawn);
            }
        };
        std::for_each(in.cancelled.begin(), in.cancelled.end(), [&](question* q) { cancel(*q); });
        for (question* q : in.asked) {
            start(to, *q);
            if (std::count(in.cancelled.begin(), in.cancelled.end(), q) > 0) {
                cancel(*q);
            }
        }
    });
}

void process::start(client_node& to, question& q) {
    const lock::caller from{&q.of, &q.of.running};
    engine::lock_engine& e = to.engine();
    const impl::spec_ptr& spec = all_.spec(q.by->name(), q.place);
    switch (q.what) {
        case question::kind::try_lock: e.acquire(spec, q.options, true, from); return;
        case question::kind::unlock: e.unlock(q.hold, from); return;
        case question::kind::extend: e.extend(q.hold, q.amount, from); return;
        case question::kind::wait_lost: e.wait_lost(q.hold, q.amount, from); return;
        case question::kind::status: e.status(spec, {}, from, &q.of.status); return;
        case question::kind::force: e.force_unlock(spec, from); return;
    }
}

void process::answered(sim::call& c) {
    question& q = questions_[c.place];
    if (q.by_stranger) {
        all_.others().force_ended(q.id);
        return;
    }
    open_.erase({q.by, q.id});
    q.hold.reset();
    if (c.view) {
        born_.emplace(std::pair{q.place, c.number}, birth{q.asked_at, all_.the_world().now()});
    }
    q.by->answered(q.id, {c.ec, std::move(c.view), c.said, std::move(c.status)});
}

}  // namespace conch::sim::majority
