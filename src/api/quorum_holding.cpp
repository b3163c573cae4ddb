// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_holding.hpp"

#include "api/quorum_tally.hpp"
#include "api/quorum_watch.hpp"
#include "core/time.hpp"

#include <conch/quorum_mutex.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace conch::impl {
namespace {

/// For the members to tell first, which know why.
constexpr duration tolerance = std::chrono::milliseconds{1};

}  // namespace

const composite_view::kind quorum_holding::this_kind{
    .until =
        [](const composite_view& v) noexcept {
            return static_cast<const quorum_holding&>(v).until();
        },
    .destroy = [](composite_view& v) noexcept { delete &static_cast<quorum_holding&>(v); },
};

quorum_holding::quorum_holding(quorum_core& core, const lock_options& options)
    : composite_view{this_kind},
      core_{core},
      options_{options},
      slots_(core.size()),
      deadline_{this, &quorum_holding::on_deadline},
      heal_{this, &quorum_holding::on_heal} {}

quorum_holding::~quorum_holding() = default;

time_point quorum_holding::until() const noexcept {
    std::array<time_point, quorum_mutex::max_clients> ends;
    std::size_t n = 0;
    const std::lock_guard guard{mutex_};
    if (ended_) {
        return time_point{duration{valid_until.load(std::memory_order_relaxed)}};
    }
    for (const slot& s : slots_) {
        if (s.of && !s.of.lost_reason()) {
            ends[n++] = s.of.valid_until();
        }
    }
    return majority_until({ends.data(), n}, majority_of(slots_.size()));
}

bool quorum_holding::stands() const noexcept {
    const auto owned =
        std::count_if(slots_.begin(), slots_.end(), [](const slot& s) { return s.of.owns_lock(); });
    return static_cast<std::size_t>(owned) >= core_.majority();
}

void quorum_holding::put(std::size_t member, hold h) {
    slot& s = slots_[member];
    const std::lock_guard guard{mutex_};
    s.of = std::move(h);
    ++s.serial;
}

hold quorum_holding::take(std::size_t member) noexcept {
    const std::lock_guard guard{mutex_};
    return std::move(slots_[member].of);
}

void quorum_holding::give_back() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        take(i).release();
    }
}

void quorum_holding::begin(std::span<vote::pointer> votes) {
    const time_point now = clock::now();
    most_ = core::after(now, options_.max_hold);
    held_ = true;
    core_.add(*this);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (votes[i]) {
            slots_[i].asked = std::exchange(votes[i], nullptr);
            slots_[i].asked->hand_over(*this);
        }
        if (has(i)) {
            ends_ = std::max(ends_, slots_[i].of.valid_until());
            join(i);
        }
    }
    core_.timers().set(heal_, core::after(now, *options_.lease / 3));
}

void quorum_holding::join(std::size_t member) {
    const view_ptr self{this};
    // Not zero: a drain completes that form at its beginning, when the lock is still held.
    slots_[member].of.async_wait_lost(
        duration{1}, core_.handler([this, self, member, serial = serial_of(member)](error_code ec) {
            member_ended(member, serial, ec);
        }));
    for (const auto& w : watches_) {
        w->watch(member);
    }
    note_deadline();
}

void quorum_holding::note_deadline() {
    const time_point at = until();
    valid_until.store(at.time_since_epoch().count(), std::memory_order_release);
    core_.timers().set(deadline_, core::after(at, tolerance));
}

// Its members tell this themselves, unless their own event loops hang.
void quorum_holding::on_deadline(void* self_) {
    auto& self = *static_cast<quorum_holding*>(self_);
    if (self.stands()) {
        self.note_deadline();
    } else {
        self.end(self.why_no_majority());
    }
}

error_code quorum_holding::why_no_majority() const noexcept {
    error_code why = errc::lease_expired;
    for (const slot& s : slots_) {
        if (const error_code told = s.of.lost_reason()) {
            why = told;
        }
    }
    return why;
}

void quorum_holding::member_ended(std::size_t member, std::uint64_t serial, error_code why) {
    if (!held_ || !why || !has(member, serial)) {
        return;
    }
    slots_[member].closed = why == errc::client_closed;
    take(member).release();
    if (!stands()) {
        end(why);
        return;
    }
    note_deadline();
    const time_point now = clock::now();
    if (why == errc::lock_lost) {
        // A forced release is that of all, and each tells of it within a third of the lease: what
        // is acquired anew before would undo it.
        heal_after_ = core::after(now, *options_.lease / 2);
    }
    const time_point soon = std::min(heal_.at, core::after(now, core_.answer_timeout()));
    core_.timers().set(heal_, std::max(soon, heal_after_));
    // Last, as they leave the list, and may end the hold. Each hears of it too, but finds the
    // member gone.
    const auto watches = watches_;
    for (const auto& w : watches) {
        w->recount(why);
    }
}

void quorum_holding::answered(std::size_t member, error_code ec, hold h) {
    slots_[member].asked.reset();
    slots_[member].closed = ec == errc::client_closed;
    if (!h) {
        return;
    }
    if (!stands()) {  // it must not come to life again
        h.release();
        end(why_no_majority());
        return;
    }
    put(member, std::move(h));
    join(member);
}

void quorum_holding::on_heal(void* self_) {
    auto& self = *static_cast<quorum_holding*>(self_);
    self.core_.timers().set(self.heal_,
                            core::after(clock::now(), self.core_.jitter(*self.options_.lease / 3)));
    self.heal();
}

void quorum_holding::heal() {
    lock_options o = healing_options();
    if (!core::lease_is_good(*o.lease, *o.renew) || o.max_hold < core::shortest_lease) {
        return;  // too late
    }
    // Between contenders that take turns there it would hardly ever find the lock free: it waits
    // for a release. Not where all leases end at a set time, which would be a later one then.
    const duration limit = core_.answer_timeout();
    o.wait = *o.renew && o.max_hold == forever ? limit : duration::zero();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!has(i) && !slots_[i].asked && !slots_[i].closed) {
            slots_[i].asked = vote::ask(core_.shared_from_this(), i, o, *o.wait + limit, *this);
        }
    }
}

lock_options quorum_holding::healing_options() const noexcept {
    const time_point now = clock::now();
    lock_options o = options_;
    if (!*o.renew) {
        o.lease = std::min(*o.lease, ends_ - now);
    }
    if (o.max_hold != forever) {
        o.max_hold = most_ - now;
    }
    return o;
}

void quorum_holding::stop() noexcept {
    core_.timers().cancel(deadline_);
    core_.timers().cancel(heal_);
    for (slot& s : slots_) {
        if (s.asked) {
            std::exchange(s.asked, nullptr)->withdraw();
        }
    }
}

void quorum_holding::drop() noexcept {
    held_ = false;
    stop();
    watches_.clear();
}

void quorum_holding::end(error_code why) {
    const view_ptr self{this};
    {
        // Once: what was told of the hold stays so.
        const time_point alive = until();
        const std::lock_guard guard{mutex_};
        // Where no majority is left to say it, it was what they last said.
        const time_point noted{duration{valid_until.load(std::memory_order_relaxed)}};
        const time_point at = alive != time_point{} ? alive : noted;
        const time_point told = why ? std::min(at, clock::now()) : at;
        valid_until.store(told.time_since_epoch().count(), std::memory_order_release);
        ended_ = true;
    }
    if (why) {
        lost.store(why.value(), std::memory_order_release);
    }
    held_ = false;
    stop();
    give_back();
    for (const auto& w : std::exchange(watches_, {})) {
        w->end(why);
    }
    core_.remove(*this);
}

error_code quorum_holding::reason() const noexcept {
    const int why = lost.load(std::memory_order_relaxed);
    return why != 0 ? static_cast<errc>(why) : errc::already_released;
}

void quorum_holding::release() {
    if (held_) {
        end({});
    }
}

void quorum_holding::detach() {
    if (held_) {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            take(i).detach();
        }
        end({});
    }
}

void quorum_holding::unlock(operation& op) {
    const auto task =
        quorum_tally::start(core_.shared_from_this(), op, quorum_tally::kind::majority);
    if (held_ && !stands()) {  // those who are to say so have not had their turn
        end(why_no_majority());
    }
    if (!held_) {
        task->end(reason());
        return;
    }
    // Its members say so themselves, unless their own event loops hang.
    task->expect_by(until(), errc::lease_expired);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (has(i)) {
            task->expect_one();
            slots_[i].of.async_unlock(core_.handler([task](error_code ec) { task->told(ec); }));
        }
    }
    end({});
    task->look();
}

void quorum_holding::extend(operation& op) {
    const auto task =
        quorum_tally::start(core_.shared_from_this(), op, quorum_tally::kind::majority);
    const duration lease = op.options.amount();
    if (!held_) {
        task->end(reason());
        return;
    }
    const time_point now = clock::now();
    task->expect_by(core::after(now, core_.settings().operation_timeout), errc::not_connected);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (has(i)) {
            task->expect_one();
            slots_[i].of.async_extend(
                lease, core_.handler([this, self = view_ptr{this}, task, lease](error_code ec) {
                    task->told(ec);
                    if (!ec) {
                        extended(lease);
                    }
                }));
        }
    }
    task->look();
}

// Those who join later are asked for as much.
void quorum_holding::extended(duration lease) {
    if (held_) {
        options_.lease = std::max(*options_.lease, lease);
        ends_ = std::max(ends_, until());
        note_deadline();
    }
}

void quorum_holding::wait_lost(operation& op) {
    const auto w = std::make_shared<quorum_watch>(core_.shared_from_this(), op, *this);
    core_.add(w);
    const int why = lost.load(std::memory_order_relaxed);
    if (op.options.amount() < duration::zero()) {
        w->end(errc::invalid_wait);
    } else if (!held_) {
        w->end(why != 0 ? make_error_code(static_cast<errc>(why)) : error_code{});
    } else if (watches_.size() >= core_.settings().max_pending) {
        w->end(errc::overloaded);
    } else {
        watches_.push_back(w);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (has(i)) {
                w->watch(i);
            }
        }
    }
}

void quorum_holding::remove(quorum_watch& w) noexcept {
    std::erase_if(watches_, [&](const auto& other) { return other.get() == &w; });
}

}  // namespace conch::impl
