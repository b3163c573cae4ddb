// SPDX-License-Identifier: BSL-1.0
#include "sim/asker.hpp"

#include "sim/simulation.hpp"

#include <boost/system/errc.hpp>

#include <chrono>

namespace conch::sim {

using namespace std::chrono_literals;

asker::asker(simulation& all, std::uint64_t client, std::uint64_t seed)
    : all_{all}, client_{client}, chance_{seed} {}

client_node& asker::node() noexcept { return *all_.clients()[client_]; }

void asker::plan(instant when) { all_.the_world().plan<&asker::act>(when, this, ++generation_); }

void asker::start() {
    plan(all_.the_world().now() + chance_.spread(100 * micros, 4 * all_.how().think));
}

void asker::stop() { plan(all_.the_world().now()); }

void asker::act(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || node().dead()) {
        return;
    }
    if (!node().running()) {
        plan(node().put_off());
    } else if (asked_) {
        if (all_.stopped()) {
            give_up(generation, 0);
        }
    } else if (all_.working()) {
        ask();
    }
}

void asker::ask() {
    world& w = all_.the_world();
    const std::size_t limit = chance_.below(all_.how().limits.size());
    asked_ = &all_.begin_permits(client_);
    permit_terms& want = *asked_->permits;
    want.limit = limit;
    want.by = this;
    // No two requests are for the same number, so that the server is seen to count each.
    const auto most = static_cast<std::int64_t>(all_.how().limits[limit].at_once());
    want.permits = static_cast<std::uint64_t>(chance_.once_in(3) ? chance_.between(1, most) : 1) *
                       limit_terms::unit -
                   asked_->place;
    asked_->try_only = chance_.once_in(2);
    if (!asked_->try_only) {
        asked_->wait =
            chance_.once_in(4) ? forever : duration{chance_.spread(1 * millis, 3 * seconds)};
    }
    w.note("ask", client_, want.permits);
    node().turn([&] {
        all_.asks(*asked_);
        node().engine().permits(all_.limit(limit), want.permits, asked_->wait, asked_->try_only,
                                {asked_, &asked_->running}, &want.verdict);
    });
    if (all_.how().has(fault::cancel) && chance_.once_in(4)) {
        w.plan<&asker::give_up>(w.now() + chance_.spread(10 * micros, 1 * seconds), this,
                                generation_);
    }
}

void asker::give_up(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_ || node().dead() || !asked_ || !asked_->running) {
        return;
    }
    if (!node().running()) {
        all_.the_world().plan<&asker::give_up>(node().put_off(), this, generation);
        return;
    }
    all_.the_world().note("give up", client_);
    node().turn([&] {
        if (asked_->running) {  // it may have ended as the turn began
            asked_->given_up = true;
            node().engine().cancel(*asked_->running, boost::system::errc::make_error_code(
                                                         boost::system::errc::operation_canceled));
        }
    });
}

void asker::ended() {
    asked_ = nullptr;
    start();
}

}  // namespace conch::sim
