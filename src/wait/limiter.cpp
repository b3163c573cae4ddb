// SPDX-License-Identifier: BSL-1.0
#include "wait/limiter.hpp"

#include "core/check.hpp"
#include "protocol/rate_limit.hpp"
#include "wait/limiters.hpp"
#include "wait/waiter.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

namespace conch::lock {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const wire::call_type limiter::type_of_call{
    .name = "permits",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &limiter::encode,
    .done = &limiter::done,
};

const pending_kind permit_request::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& r = static_cast<permit_request&>(p);
    r.home.give_up(r, why);
}};

permit_request::permit_request(caller c, limiter& l, std::uint64_t n, bool once,
                               rate_verdict* out) noexcept
    : pending{own_kind, c},
      home{l},
      permits{n},
      try_only{once},
      result{out},
      since{l.all.env.now},
      deadline{this, &limiter::on_wait_over} {}

permit_request::~permit_request() { home.all.env.timers.cancel(deadline); }

limiter::limiter(limiters& a, impl::rate_spec_ptr s)
    : all{a},
      spec{std::move(s)},
      hash_slot_{wire::hash_slot_of(spec->name())},
      again_{this, &limiter::on_again},
      patience_{this, &limiter::on_patience_over} {}

limiter::~limiter() { CONCH_CHECK(idle() && !again_.armed() && !patience_.armed()); }

bool limiter::idle() const noexcept {
    return queue_.empty() && call_.where == wire::call::state::idle;
}

void limiter::acquire(permit_request& r, duration wait) {
    queue_.push_back(r);
    if (!r.try_only && wait != forever) {
        all.env.timers.set(r.deadline, core::after(all.env.now, wait));
    }
    if (!again_.armed() || r.try_only) {
        ask();
    } else {
        r.tried = true;  // the refusal of those before it stands for its own
        if (in_vain(r)) {
            end(r, errc::timed_out, known());
        }
    }
}

// What is written with the call is decided when it is written.
void limiter::ask() {
    all.env.timers.cancel(again_);
    if (queue_.empty()) {
        return;
    }
    if (!patience_.armed()) {
        asking_since_ = all.env.now;
        all.env.timers.set(patience_, core::after(all.env.now, all.env.settings.operation_timeout));
    }
    if (call_.where == wire::call::state::idle) {
        all.servers.submit(call_, hash_slot_);
    }
}

void limiter::encode(wire::call& c, resp::writer& w) {
    limiter& l = static_cast<counting&>(c).of;
    std::array<std::uint64_t, largest_batch> permits;
    l.batch_.clear();
    for (pending& p : l.queue_) {
        auto& r = static_cast<permit_request&>(p);
        if (l.batch_.size() == largest_batch) {
            break;
        }
        r.in_call = true;
        permits[l.batch_.size()] = r.permits;
        l.batch_.push_back({&r, r.permits});
    }
    protocol::encode_permits(c, *l.spec, std::span{permits}.first(l.batch_.size()), w);
}

void limiter::done(wire::call& c, const wire::outcome& o) {
    limiter& l = static_cast<counting&>(c).of;
    if (o.lost()) {
        l.lost();
    } else {
        l.all.env.timers.cancel(l.patience_);
        if (o.refused()) {
            l.failed(wire::to_errc(o.reply.text()));
        } else {
            l.answered(o.reply);
        }
    }
    l.left();
}

void limiter::answered(const resp::value& reply) {
    const auto answer = protocol::read_permits(reply, batch_.size());
    if (!answer) {
        failed(errc::protocol_error);
        return;
    }
    const std::size_t granted = answer->granted;
    const std::vector<asked_for> batch = std::exchange(batch_, {});
    std::uint64_t count = answer->counted;
    for (std::size_t i = granted; i-- > 0;) {
        count -= std::min(count, batch[i].permits);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
        count += i < granted ? batch[i].permits : 0;
        if (permit_request* const r = batch[i].request) {
            r->in_call = false;
            r->in_doubt = false;
            if (i < granted) {
                end(*r, {}, {.allowed = true, .count = count, .reset_after = answer->reset_after});
            }
        }
    }
    if (granted < batch.size() && batch[granted].request) {
        last_ = {.count = answer->counted,
                 .reset_after = answer->reset_after,
                 .retry_after = answer->retry_after};
        last_at_ = all.env.now;
        refused();
    } else {
        ask();
    }
}

// The head of the queue doesn't fit yet, so nobody behind it has a turn. If it leaves, that is
// known of those only who want as much.
void limiter::refused() {
    all.env.timers.set(again_,
                       core::after(all.env.now, std::max<duration>(last_.retry_after, 1ms)));
    last_permits_ = head().permits;
    const bool leaves = head().try_only || head().overdue || in_vain(head());
    for (auto next = queue_.begin(); next != queue_.end();) {
        auto& r = static_cast<permit_request&>(*next++);
        if (leaves && r.permits < last_permits_) {
            continue;
        }
        r.tried = true;
        if (r.try_only || r.overdue || in_vain(r)) {
            end(r, r.try_only ? error_code{} : errc::timed_out, last_);
        }
    }
    if (leaves) {
        ask();
    }
}

// Its wait is over before those in front of it could have been granted as much.
bool limiter::in_vain(const permit_request& r) const noexcept {
    return r.permits >= last_permits_ && r.deadline.armed() && r.deadline.at < again_.at;
}

rate_verdict limiter::known() const noexcept {
    const duration since = all.env.now - last_at_;
    rate_verdict v = last_;
    v.reset_after -= std::min(since, v.reset_after);
    v.retry_after -= std::min(since, v.retry_after);
    return v;
}

// The server refused the command itself.
void limiter::failed(error_code why) {
    for (const asked_for& one : std::exchange(batch_, {})) {
        if (one.request) {
            one.request->in_call = false;
            end(*one.request, why);
        }
    }
    ask();
}

// A try must not be made twice. Who waits asks again: what the lost call may have counted is spent.
void limiter::lost() {
    const bool written = call_.history.copies > 0;
    for (const asked_for& one : std::exchange(batch_, {})) {
        if (permit_request* const r = one.request) {
            r->in_call = false;
            r->in_doubt = r->in_doubt || written;
            if (written && r->try_only) {
                end(*r, errc::outcome_unknown);
            } else if (r->overdue && r->tried) {
                end(*r, errc::outcome_unknown);
            }
        }
    }
    if (!written) {
        give_up_all(errc::not_connected);
    }
    ask();
}

void limiter::end(permit_request& r, error_code why, const rate_verdict& verdict) {
    if (r.result) {
        *r.result = verdict;
        r.result->limit = spec->burst();
        r.result->remaining = spec->burst() - std::min(spec->burst(), verdict.count);
    }
    if (!verdict.allowed) {
        log_refusal(r, verdict);
    }
    if (!why.failed()) {
        ++(verdict.allowed ? all.env.telemetry.counters.permits_granted
                           : all.env.telemetry.counters.permits_refused);
    }
    end(r, why, verdict.allowed);
}

void limiter::log_refusal(const permit_request& r, const rate_verdict& verdict) const {
    const log_level level = r.log_refusal ? log_level::info : log_level::debug;
    if (all.env.telemetry.log.wants(level)) {
        const auto left = std::chrono::duration_cast<milliseconds>(verdict.retry_after);
        const std::string what = "rate limit " + std::string{spec->name()} + ": refused";
        all.env.telemetry.repeated(level, what,
                                   what + ", " + std::to_string(verdict.count) + " of " +
                                       std::to_string(spec->burst()) + " permits in use, next in " +
                                       std::to_string(left.count()) + " ms");
    }
}

void limiter::end(permit_request& r, error_code why, bool granted) {
    all.env.telemetry.rate_asked({.name = spec->name(),
                                  .permits = r.permits,
                                  .began = r.since,
                                  .ended = all.env.now,
                                  .granted = granted,
                                  .result = why});
    if (r.in_call) {
        for (asked_for& one : batch_) {
            one.request = one.request == &r ? nullptr : one.request;
        }
    }
    all.done.complete(r, why);
    all.requests.free(r);
    left();
}

void limiter::give_up(permit_request& r, error_code why) {
    const bool was_first = &r == &head();
    end(r, why);
    if (was_first) {
        ask();
    }
}

void limiter::give_up_all(error_code why) {
    while (!queue_.empty()) {
        end(head(), head().in_doubt ? errc::outcome_unknown : why);
    }
}

// If the queue is empty, cancels the timers and withdraws the call.
void limiter::left() {
    if (!queue_.empty()) {
        return;
    }
    all.env.timers.cancel(again_);
    all.env.timers.cancel(patience_);
    if (call_.where == wire::call::state::waiting) {
        all.servers.withdraw(call_);
    } else {
        call_.abandon();
    }
    all.may_be_idle(*this);
}

bool limiter::awaits(const permit_request& r) const noexcept {
    return r.in_call && call_.where == wire::call::state::written;
}

void limiter::on_again(void* self) { static_cast<limiter*>(self)->ask(); }

void limiter::on_wait_over(void* request_) {
    auto& r = *static_cast<permit_request*>(request_);
    limiter& l = r.home;
    const wire::link& link = l.all.servers.serving(l.hash_slot_);
    if (!r.overdue && (!r.tried || l.awaits(r))) {
        r.overdue = true;
        if (r.deadline.at > r.since) {  // else it is a try, with the patience of one
            l.all.env.timers.set(r.deadline, core::after(l.all.env.now, answer_grace));
        }
    } else if (r.in_doubt || l.awaits(r)) {
        l.give_up(r, errc::outcome_unknown);
    } else if (r.tried || (link.ready() && l.head().tried)) {
        l.end(r, errc::timed_out, l.known());
    } else {
        l.give_up(r, link.why_unanswered(l.call_));
    }
}

void limiter::on_patience_over(void* self) {
    limiter& l = *static_cast<limiter*>(self);
    const auto over = [&] {
        return core::after(std::max(l.head().since, l.asking_since_),
                           l.all.env.settings.operation_timeout);
    };
    const wire::link& link = l.all.servers.serving(l.hash_slot_);
    while (!l.queue_.empty() && over() <= l.all.env.now) {
        permit_request& r = l.head();
        const bool unknown = r.in_doubt || l.awaits(r);
        l.end(r, unknown ? errc::outcome_unknown : link.why_unanswered(l.call_));
    }
    if (!l.queue_.empty()) {
        l.all.env.timers.set(l.patience_, over());
    }
}

}  // namespace conch::lock
