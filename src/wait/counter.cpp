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
      patience_{this, &counter::on_patience_over},
      call_old_{this, &counter::on_call_old} {}

counter::~counter() { CONCH_CHECK(idle() && !patience_.armed() && !call_old_.armed()); }

bool counter::idle() const noexcept { return queue_.empty() && call_idle() && changes == 0; }

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
    if (call_idle()) {
        vigil_.asking();
        if (takes()) {
            call_number_ = all.next_number();
            all.env.timers.set(call_old_, core::after(all.env.now, protocol::request_repeated));
        }
        all.servers.submit(call_, spec->hash_slot());
    }
}

void counter::encode(wire::call& c, resp::writer& w) {
    counter& s = static_cast<asking&>(c).of;
    if (c.history.copies <= 1) {
        s.fill_batch();
    }
    std::array<std::int64_t, largest_batch> permits;
    std::transform(s.batch_.begin(), s.batch_.end(), permits.begin(),
                   [](const asked_for& one) { return one.permits; });
    protocol::encode_acquire_permits(c, *s.spec, {s.all.request_prefix, s.call_number_}, s.wanted(),
                                     std::span{permits}.first(s.batch_.size()), w);
}

// Decided by the first copy that the server may run: who comes until then goes along.
void counter::fill_batch() {
    batch_.clear();
    for (pending& p : queue_) {
        auto& w = static_cast<counter_waiter&>(p);
        if (batch_.size() == largest_batch) {
            break;
        }
        w.in_call = true;
        batch_.push_back({&w, w.permits});
    }
}

bool counter::wanted() const noexcept {
    return std::any_of(batch_.begin(), batch_.end(),
                       [](const asked_for& one) { return one.waiter != nullptr; });
}

void counter::done(wire::call& c, const wire::outcome& o) {
    counter& s = static_cast<asking&>(c).of;
    s.all.env.timers.cancel(s.call_old_);
    if (o.answered()) {
        s.all.env.timers.cancel(s.patience_);
        s.answered(o.reply);
    } else if (c.history.in_doubt()) {
        s.end_batch(errc::outcome_unknown);
    } else if (o.lost()) {
        s.end_batch(errc::not_connected);
    } else {
        s.all.env.timers.cancel(s.patience_);
        s.end_batch(wire::to_errc(o.reply.text()));
    }
    s.left();
}

void counter::answered(const resp::value& reply) {
    const auto granted = protocol::read_acquired(reply, batch_.size());
    if (!granted) {
        end_batch(errc::protocol_error);
        return;
    }
    const std::vector<asked_for> batch = std::exchange(batch_, {});
    std::int64_t unwanted = 0;
    for (std::size_t i = 0; i < *granted; ++i) {
        if (batch[i].waiter) {
            end(*batch[i].waiter, {}, true);
        } else {
            unwanted += batch[i].permits;
        }
    }
    if (unwanted > 0) {
        all.give_back(*this, unwanted);
    }
    // What an earlier copy granted, or marked, is answered as it was then: a script that looked
    // again could take more for a copy whose answer nobody reads.
    const bool stale = call_.history.copies > 1;
    refused(batch, *granted, stale);
}

// The first waiter that doesn't fit stays in front, or leaves; then that is known of those only who
// were asked for with it and want as much. `stale`: an earlier copy found it so.
void counter::refused(const std::vector<asked_for>& batch, std::size_t granted, bool stale) {
    bool in_front = false;  // it is still there, and waits
    std::int64_t least = 0;
    for (std::size_t i = granted; i < batch.size(); ++i) {
        counter_waiter* const w = batch[i].waiter;
        if (i == granted) {
            in_front = w && !w->leaves_if_refused();
            least = batch[i].permits;
        }
        if (!w) {
            continue;
        }
        w->in_call = false;
        if (in_front || w->permits >= least) {
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
        vigil_.answered(stale);
    }
}

void counter::refused(counter_waiter& w) {
    w.tried = true;
    if (w.leaves_if_refused()) {
        end_refused(w);
    }
}

void counter::end_batch(error_code why) {
    if (why == errc::outcome_unknown) {
        all.lost(*spec);
    }
    for (const asked_for& one : std::exchange(batch_, {})) {
        if (one.waiter) {
            one.waiter->in_call = false;
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
        for (asked_for& one : batch_) {
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
        all.servers.withdraw(call_);
        all.env.timers.cancel(call_old_);
        batch_.clear();
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
    const bool asked = w.in_call && s.call_.where == wire::call::state::written;
    if (!w.overdue && (!w.tried || asked)) {
        w.overdue = true;
        s.all.env.timers.set(w.deadline, core::after(s.all.env.now, answer_grace));
    } else if (w.tried) {
        ++s.all.env.telemetry.counters.permits_refused;
        s.give_up(w, errc::timed_out);
    } else {
        s.give_up(w, s.link().why_unanswered(s.call_));
    }
}

void counter::on_patience_over(void* self) {
    counter& s = *static_cast<counter*>(self);
    const auto over = [&] {
        return core::after(std::max(s.head().since, s.asking_since_), s.all.patience());
    };
    while (!s.queue_.empty() && over() <= s.all.env.now) {
        s.end(s.head(), s.link().why_unanswered(s.call_));
    }
    if (!s.queue_.empty()) {
        s.all.env.timers.set(s.patience_, over());
    }
}

// A copy that came later might find the request key gone, and take the permits once more.
void counter::on_call_old(void* self) {
    counter& s = *static_cast<counter*>(self);
    const wire::call_history& h = s.call_.history;
    const time_point over = core::after(h.copies > 0 ? h.first_sent : s.all.env.now,
                                        duration{protocol::request_repeated});
    if (over > s.all.env.now) {
        s.all.env.timers.set(s.call_old_, over);
        return;
    }
    if (s.call_.where == wire::call::state::waiting) {
        s.all.servers.withdraw(s.call_);
        s.end_batch(errc::outcome_unknown);
        s.left();
    } else {
        s.call_.abandon();
    }
}

}  // namespace conch::lock
