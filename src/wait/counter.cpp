// SPDX-License-Identifier: BSL-1.0
#include "wait/counter.hpp"

#include "core/check.hpp"
#include "protocol/counter.hpp"
#include "wait/counters.hpp"
#include "wait/waiter.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace conch::lock {

const wire::call_type counter::take_type{
    .name = "acquire permits",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &counter::encode,
    .done = &counter::done,
};

const pending_kind counter_waiter::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& w = static_cast<counter_waiter&>(p);
    ++w.home.all.env.telemetry.counters.cancelled;
    w.home.give_up(w, why);
}};

counter_waiter::counter_waiter(caller c, counter& s, std::int64_t n, duration how_long,
                               bool once) noexcept
    : pending{own_kind, c},
      home{s},
      permits{n},
      wait{how_long},
      try_only{once},
      since{s.all.env.now},
      deadline{this, &counter::on_wait_over} {}

counter_waiter::~counter_waiter() { home.all.env.timers.cancel(deadline); }

counter::counter(counters& a, impl::count_spec_ptr s)
    : all{a},
      spec{std::move(s)},
      vigil_{a.env, a.servers, spec->hash_slot(), this, &counter::on_news},
      patience_{this, &counter::on_patience_over} {}

counter::~counter() { CONCH_CHECK(idle() && !patience_.armed()); }

counter::asking::asking(counter& s) noexcept
    : wire::call{s.takes() ? take_type : count_type}, of{s}, old{this, &counter::on_call_old} {}

counter::asking::~asking() { of.all.env.timers.cancel(old); }

bool counter::idle() const noexcept { return queue_.empty() && !call_ && changes == 0; }

const wire::link& counter::link() const noexcept { return all.servers.serving(spec->hash_slot()); }

// While the vigil goes on, the first waiter was refused permits: it stands for those behind it.
void counter::acquire(counter_waiter& w) {
    queue_.push_back(w);
    const bool refused_before = takes() && vigil_.listening();
    if (refused_before) {
        w.tried = true;
        if (w.no_wait()) {
            end_refused(w);
            return;
        }
    }
    if (!w.no_wait() && w.wait != forever) {
        all.env.timers.set(w.deadline, core::after(all.env.now, w.wait));
    }
    if (!refused_before) {
        ask();
    }
}

void counter::ask() {
    if (queue_.empty()) {
        return;
    }
    if (!patience_.armed()) {
        asking_since_ = all.env.now;
        all.env.timers.set(patience_, core::after(all.env.now, all.patience()));
    }
    if (!call_) {
        call_ = std::make_unique<asking>(*this);
        vigil_.asking();
        if (takes()) {
            call_->number = all.next_number();
            all.env.timers.set(call_->old, core::after(all.env.now, protocol::request_repeated));
        }
        all.servers.submit(*call_, spec->hash_slot());
    }
}

void counter::encode(wire::call& c, resp::writer& w) {
    auto& a = static_cast<asking&>(c);
    counter& s = a.of;
    if (c.history.copies <= 1) {
        a.fill_batch();
    }
    std::array<std::int64_t, largest_batch> permits;
    std::transform(a.batch.begin(), a.batch.end(), permits.begin(),
                   [](const asked_for& one) { return one.permits; });
    protocol::encode_acquire_permits(c, *s.spec, {s.all.request_prefix, a.number}, a.wanted(),
                                     std::span{permits}.first(a.batch.size()), w);
}

// Decided by the first copy that the server may run: who comes until then goes along.
void counter::asking::fill_batch() {
    batch.clear();
    for (pending& p : of.queue_) {
        auto& w = static_cast<counter_waiter&>(p);
        if (batch.size() == largest_batch) {
            break;
        }
        w.in_call = true;
        batch.push_back({&w, w.permits});
    }
}

bool counter::asking::wanted() const noexcept {
    return std::any_of(batch.begin(), batch.end(),
                       [](const asked_for& one) { return one.waiter != nullptr; });
}

std::unique_ptr<counter::asking> counter::take_call() noexcept {
    for (const asked_for& one : call_->batch) {
        if (one.waiter) {
            one.waiter->in_call = false;
        }
    }
    return std::move(call_);
}

void counter::done(wire::call& c, const wire::outcome& o) {
    counter& s = static_cast<asking&>(c).of;
    const auto call = s.take_call();
    if (o.answered()) {
        s.all.env.timers.cancel(s.patience_);
        s.answered(*call, o.reply);
    } else if (c.history.in_doubt()) {
        s.end_batch(*call, errc::outcome_unknown);
    } else if (o.lost()) {
        s.end_batch(*call, errc::not_connected);
    } else {
        s.all.env.timers.cancel(s.patience_);
        s.end_batch(*call, wire::to_errc(o.reply.text()));
    }
    s.left();
}

void counter::answered(const asking& c, const resp::value& reply) {
    const auto granted = protocol::read_acquired(reply, c.batch.size());
    if (!granted) {
        end_batch(c, errc::protocol_error);
        return;
    }
    std::int64_t unwanted = 0;
    for (std::size_t i = 0; i < *granted; ++i) {
        if (c.batch[i].waiter) {
            end(*c.batch[i].waiter, {}, true);
        } else {
            unwanted += c.batch[i].permits;
        }
    }
    if (unwanted > 0) {
        all.give_back(*this, unwanted);
    }
    refused(c, *granted);
}

// The first waiter that doesn't fit stays in front, or leaves; then that is known of those only who
// were asked for with it and want as much.
void counter::refused(const asking& c, std::size_t granted) {
    bool in_front = false;  // it is still there, and waits
    std::int64_t least = 0;
    for (std::size_t i = granted; i < c.batch.size(); ++i) {
        counter_waiter* const w = c.batch[i].waiter;
        if (i == granted) {
            in_front = w && !w->leaves_if_refused();
            least = c.batch[i].permits;
        }
        if (w && (in_front || w->permits >= least)) {
            refused(*w);
        }
    }
    if (in_front) {  // nobody behind it has a turn, in that call or not
        for (auto next = queue_.begin(); next != queue_.end();) {
            refused(static_cast<counter_waiter&>(*next++));
        }
    }
    if (!in_front) {
        vigil_.answered(true);
        ask();
    } else if (!vigil_.listening()) {
        vigil_.answered(true);
        vigil_.begin(spec->channel());
        ask();
    } else {
        // What an earlier copy granted, or marked, is answered as it was then: a script that looked
        // again could take more for a copy whose answer nobody reads.
        const bool stale = c.history.copies > 1;
        vigil_.answered(stale);
    }
}

void counter::refused(counter_waiter& w) {
    w.tried = true;
    if (w.leaves_if_refused()) {
        end_refused(w);
    }
}

void counter::end_batch(const asking& c, error_code why) {
    if (why == errc::outcome_unknown) {
        all.lost(*spec);
    }
    for (const asked_for& one : c.batch) {
        if (one.waiter) {
            end(*one.waiter, why);
        }
    }
    vigil_.answered(true);
    ask();
}

void counter::end_refused(counter_waiter& w) {
    ++all.env.telemetry.counters.permits_refused;
    end(w, w.try_only ? error_code{} : errc::timed_out);
}

void counter::end(counter_waiter& w, error_code why, bool granted) {
    if (w.in_call) {
        for (asked_for& one : call_->batch) {
            one.waiter = one.waiter == &w ? nullptr : one.waiter;
        }
    }
    all.env.telemetry.counters.permits_granted += granted ? 1 : 0;
    all.done.complete(w, why, {}, impl::done_if(granted));
    all.waiters.free(w);
    left();
}

void counter::give_up(counter_waiter& w, error_code why) {
    const bool was_in_front = takes() && &w == &head();
    end(w, why);
    if (was_in_front) {
        ask();
    }
}

void counter::give_up_all(error_code why) {
    while (!queue_.empty()) {
        end(head(), why);
    }
}

// What was written is repeated until it is known what it took, though nobody wants it.
void counter::left() {
    if (!queue_.empty()) {
        return;
    }
    all.env.timers.cancel(patience_);
    vigil_.end();
    if (harmless()) {
        all.servers.withdraw(*call_);
        call_.reset();
    }
    all.may_be_idle(*this);
}

void counter::on_news(void* self, wake why) {
    auto& s = *static_cast<counter*>(self);
    if (why == wake::message && !s.takes()) {
        s.opened();
    }
    s.ask();
}

void counter::on_wait_over(void* waiter_) {
    auto& w = *static_cast<counter_waiter*>(waiter_);
    counter& s = w.home;
    const bool asked = w.in_call && s.call_->where == wire::call::state::written;
    if (!w.overdue && (!w.tried || asked)) {
        w.overdue = true;
        s.all.env.timers.set(w.deadline, core::after(s.all.env.now, answer_grace));
    } else if (w.tried) {
        ++s.all.env.telemetry.counters.permits_refused;
        s.give_up(w, errc::timed_out);
    } else {
        CONCH_CHECK(s.call_);
        s.give_up(w, s.link().why_unanswered(*s.call_));
    }
}

void counter::on_patience_over(void* self) {
    counter& s = *static_cast<counter*>(self);
    const auto over = [&] {
        return core::after(std::max(s.head().since, s.asking_since_), s.all.patience());
    };
    while (!s.queue_.empty() && over() <= s.all.env.now) {
        CONCH_CHECK(s.call_);
        s.end(s.head(), s.link().why_unanswered(*s.call_));
    }
    if (!s.queue_.empty()) {
        s.all.env.timers.set(s.patience_, over());
    }
}

// A copy that came later might find the request key gone, and take the permits once more.
void counter::on_call_old(void* self) {
    auto& c = *static_cast<asking*>(self);
    counter& s = c.of;
    const time_point over = core::after(c.history.copies > 0 ? c.history.first_sent : s.all.env.now,
                                        duration{protocol::request_repeated});
    if (over > s.all.env.now) {
        s.all.env.timers.set(c.old, over);
        return;
    }
    if (c.where == wire::call::state::waiting) {
        s.all.servers.withdraw(c);
        s.end_batch(*s.take_call(), errc::outcome_unknown);
        s.left();
    } else {
        c.abandon();
    }
}

}  // namespace conch::lock
