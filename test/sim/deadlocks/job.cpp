// SPDX-License-Identifier: BSL-1.0
#include "sim/deadlocks/job.hpp"

#include "sim/deadlocks/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::sim::deadlocks {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_wishes = 3;

/// With all that it wants.
constexpr instant longest_work = 1 * seconds;

}  // namespace

job::job(simulation& all, std::uint64_t client, std::uint64_t seed)
    : actor{all, client, seed}, all_{all}, has_owner_{!chance_.once_in(12)} {}

void job::choose() {
    const bool lost = std::any_of(has_.begin(), has_.end(),
                                  [&](const possession* h) { return h->view->lost.load() != 0; });
    if (stopped_ || lost || begins_anew_ || (!has_.empty() && wishes_.empty())) {
        give_back();
    } else {
        if (wishes_.empty()) {
            make_wishes();
        }
        ask();
    }
}

void job::make_wishes() {
    for (std::size_t i = 0; i < all_.names(); ++i) {
        wishes_.push_back({.name = i, .shared = all_.is_read_write(i) && chance_.once_in(2)});
    }
    for (std::size_t i = wishes_.size(); i > 1; --i) {
        std::swap(wishes_[i - 1], wishes_[chance_.below(i)]);
    }
    const std::size_t some = chance_.once_in(6) ? 1 : 2 + chance_.below(most_wishes - 1);
    wishes_.resize(std::min(some, wishes_.size()));
    if (chance_.once_in(8)) {  // it nests, or waits for itself
        const wish one = wishes_[chance_.below(wishes_.size())];
        wishes_.push_back({.name = one.name, .shared = one.shared != chance_.once_in(2)});
        wishes_.back().shared &= all_.is_read_write(one.name);
    }
}

// No run is to stand still, for what nobody finds.
lock_options job::choose_options(bool shared) {
    lock_options o;
    o.lease = duration{chance_.spread(500 * millis, all_.how().longest_lease.count())};
    o.renew = !chance_.once_in(16);
    if (chance_.once_in(16)) {
        o.max_hold = duration{chance_.spread(100 * millis, 3 * seconds)};
    } else if (*o.renew && chance_.once_in(24)) {
        o.progress_within = 500ms;
    }
    const bool is_found = has_owner_ && all_.looks(client_) && !shared;
    if (!is_found || all_.is_hasty() || chance_.once_in(3)) {
        const instant poll = all_.how().settings.max_poll_interval.count();
        const instant longest = std::min(32 * poll, 8 * seconds);
        o.wait = chance_.once_in(8) ? duration{} : duration{chance_.spread(poll / 8, longest)};
    }
    o.owner = has_owner_ ? &owner_ : nullptr;
    return o;
}

void job::ask() {
    const wish w = wishes_.back();
    name_ = w.name;
    lock_call& c = all_.begin(*this, w.shared, choose_options(w.shared));
    asked_ = last_ = &c;
    put(c, w.name * 2 + (w.shared ? 1 : 0));
}

void job::send(counters::want& w) {
    lock_call& c = static_cast<lock_call&>(w);
    node().engine().acquire(all_.spec(c.name, c.shared), c.options, false,
                            {static_cast<call*>(&c), &c.running});
}

void job::ended(lock_call& c) {
    asked_ = nullptr;
    if (c.view) {
        has_.push_back(&all_.granted(c));
        wishes_.pop_back();
    } else {
        begins_anew_ = c.ec == errc::deadlock || chance_.once_in(4);
        if (chance_.once_in(2)) {
            wishes_.pop_back();  // it does without
        }
    }
    if (wishes_.empty() && !begins_anew_) {
        plan(all_.the_world().now() + chance_.spread(millis, longest_work));
    } else {
        plan_soon();
    }
}

void job::give_back() {
    begins_anew_ = false;
    wishes_.clear();
    const std::vector<possession*> all = std::exchange(has_, {});
    all_.the_world().note("release", client_, all.size());
    node().turn([&] {
        for (possession* const h : all) {
            all_.gone(*h);
            h->view->asked.store(impl::hold_request::release);
            node().engine().release(*h->view);
        }
    });
    plan_soon();
}

void job::die() noexcept {
    actor::die();
    if (last_ && last_->is_open()) {
        last_->ended_at = all_.the_world().now();
    }
    for (possession* const h : has_) {
        all_.gone(*h);
    }
}

}  // namespace conch::sim::deadlocks
