// SPDX-License-Identifier: BSL-1.0
#include "group/holding.hpp"

#include "core/time.hpp"
#include "group/tally.hpp"
#include "group/watch.hpp"

#include <algorithm>
#include <utility>

namespace conch::group {
namespace {

/// Counts who confirms it; those who join later are asked for as much.
class extension final : public tally {
public:
    extension(context& ctx, void* tag, std::shared_ptr<holding> of, duration lease)
        : tally{ctx, tag, kind::majority}, of_{std::move(of)}, lease_{lease} {}

private:
    void answered(std::size_t member, reply& r) override {
        if (!r.ec) {
            of_->extended(member, lease_);
        }
    }

    const std::shared_ptr<holding> of_;
    const duration lease_;
};

}  // namespace

holding::holding(context& ctx, const lock_options& options)
    : ctx_{ctx},
      options_{options},
      view_{ctx.all.make_view()},
      members_(ctx.size),
      deadline_{this, &holding::on_deadline},
      heal_{this, &holding::on_heal} {
    view_->needed = ctx.how.needed;
}

holding::~holding() = default;

duration holding::remaining(std::size_t member) const noexcept {
    return std::max(impl::end_of(*view_->parts[member]) - ctx_.now, duration::zero());
}

void holding::put(std::size_t member, impl::view_ptr hold) {
    view_->put(member, std::move(hold));
    ++members_[member].serial;
}

void holding::give_back() noexcept {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has(i)) {
            ctx_.all.release(i, view_->put(i, nullptr));
        }
    }
}

void holding::begin(std::span<vote::pointer> votes) {
    const time_point now = ctx_.now;
    most_ = core::after(now, options_.max_hold);
    held_ = true;
    view_->of = this;
    view::note_progress(*view_, now);
    ctx_.holdings.emplace(this, shared_from_this());
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (votes[i]) {
            members_[i].asked = std::exchange(votes[i], nullptr);
            members_[i].asked->hand_over(*this);
        }
        if (has(i)) {
            note_end_of(i);
        }
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has(i)) {
            join(i);
        }
    }
    ctx_.timers.set(heal_, core::after(now, *options_.lease / 3));
}

void holding::join(std::size_t i) {
    const std::uint64_t id =
        ctx_.asked.add<&holding::member_ended>(shared_from_this(), i, serial_of(i));
    // Not zero: a drain completes that form at its beginning, when the lock is still held.
    ctx_.all.wait_lost(i, id, member(i), duration{1});
    for (const auto& w : watches_) {
        w->add(i);
    }
    note_deadline();
}

// One that joins later, or whose server was out of reach when it was asked, may last longer.
void holding::note_end_of(std::size_t i) {
    ends_ = std::max(ends_, impl::end_of(*member(i)));
    view_->limit(most());
}

void holding::note_deadline() {
    const time_point at = until();
    view_->valid_until.store(at.time_since_epoch().count(), std::memory_order_release);
    ctx_.timers.set(deadline_, core::after(at, members_first));
}

// Its members tell this themselves, unless their own event loops hang.
void holding::on_deadline(void* self_) {
    auto& self = *static_cast<holding*>(self_);
    if (self.stands()) {
        self.note_deadline();
    } else {
        self.end(self.why_too_few());
    }
}

error_code holding::why_too_few() const noexcept {
    error_code why = ctx_.now >= most_ ? errc::max_hold_reached : errc::lease_expired;
    for (const impl::view_ptr& part : view_->parts) {
        if (const int told = part ? part->lost.load(std::memory_order_acquire) : 0) {
            why = static_cast<errc>(told);
        }
    }
    return why;
}

void holding::member_ended(std::size_t i, std::uint64_t serial, reply& r) {
    const error_code why = r.ec;
    if (!held_ || !why || !has(i, serial)) {
        return;
    }
    members_[i].closed = why == errc::client_closed;
    ctx_.all.release(i, view_->put(i, nullptr));
    if (!stands()) {
        end(why);
        return;
    }
    note_deadline();
    const time_point now = ctx_.now;
    if (why == errc::lock_lost) {
        // A forced release is that of all, and each tells of it within a third of the lease: what
        // is acquired anew before would undo it.
        heal_after_ = core::after(now, *options_.lease / 2);
    }
    const time_point soon = std::min(heal_.at, core::after(now, ctx_.how.answer_timeout));
    ctx_.timers.set(heal_, std::max(soon, heal_after_));
    // Last, as they leave the list, and may end the hold. Each hears of it too, but finds the
    // member gone.
    const auto watches = watches_;
    for (const auto& w : watches) {
        w->recount(why);
    }
}

void holding::answered(std::size_t member, error_code ec, impl::view_ptr hold) {
    members_[member].asked.reset();
    members_[member].closed = ec == errc::client_closed;
    if (!hold) {
        return;
    }
    if (!stands()) {  // it must not come to life again
        ctx_.all.release(member, hold);
        end(why_too_few());
        return;
    }
    put(member, std::move(hold));
    join(member);
}

void holding::on_heal(void* self_) {
    auto& self = *static_cast<holding*>(self_);
    self.ctx_.timers.set(self.heal_,
                         core::after(self.ctx_.now, self.ctx_.jitter(*self.options_.lease / 3)));
    self.heal();
}

// It is not to be held by new grants for longer than its members renew it.
bool holding::shows_no_progress() const noexcept {
    return options_.progress_within != duration::zero() &&
           ctx_.now - view_->reported.get() > options_.progress_within;
}

void holding::heal() {
    if (shows_no_progress()) {
        return;
    }
    lock_options o = healing_options();
    if (!core::lease_is_good(*o.lease, *o.renew) || o.max_hold < core::shortest_lease) {
        return;  // too late
    }
    // Between contenders that take turns there it would hardly ever find the lock free: it waits
    // for a release. Not where all leases end at a set time, which would be a later one then.
    const duration limit = ctx_.how.answer_timeout;
    o.wait = *o.renew && o.max_hold == forever ? limit : duration::zero();
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!has(i) && !members_[i].asked && !members_[i].closed) {
            members_[i].asked = vote::ask(ctx_, i, o, *o.wait + limit, *this);
        }
    }
}

lock_options holding::healing_options() const noexcept {
    const time_point now = ctx_.now;
    lock_options o = options_;
    if (!*o.renew) {
        o.lease = std::min(*o.lease, ends_ - now);
    }
    if (o.max_hold != forever) {
        o.max_hold = most_ - now;
    }
    return o;
}

void holding::stop() noexcept {
    ctx_.timers.cancel(deadline_);
    ctx_.timers.cancel(heal_);
    for (member_hold& s : members_) {
        if (s.asked) {
            std::exchange(s.asked, nullptr)->withdraw();
        }
    }
}

void holding::drop() noexcept {
    held_ = false;
    view_->of = nullptr;
    stop();
    watches_.clear();
}

void holding::end(error_code why) {
    const auto self = shared_from_this();
    view_->end(why ? ctx_.now : core::never);
    if (why) {
        view_->lost.store(why.value(), std::memory_order_release);
    }
    held_ = false;
    view_->of = nullptr;
    stop();
    give_back();
    for (const auto& w : std::exchange(watches_, {})) {
        w->end(why);
    }
    ctx_.holdings.erase(this);
}

void holding::release() { end({}); }

void holding::detach() {
    view_->end(core::never);
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has(i)) {
            ctx_.all.detach(i, view_->put(i, nullptr));
        }
    }
    end({});
}

template <typename Ask>
void holding::give_up(void* tag, Ask ask) {
    const auto task = std::make_shared<tally>(ctx_, tag, tally::kind::majority);
    task->enter();
    if (!stands()) {  // those who are to say so have not had their turn
        const error_code why = why_too_few();
        end(why);
        task->end(why);
        return;
    }
    // Its members say so themselves, unless their own event loops hang.
    const time_point patience =
        core::after(core::after(ctx_.now, ctx_.settings.operation_timeout), members_first);
    const bool in_time = until() <= patience;
    task->expect_by(in_time ? until() : patience,
                    in_time ? errc::lease_expired : errc::not_connected);
    view_->end(core::never);
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has(i)) {
            ask(i, task->expect(i), view_->put(i, nullptr));
        }
    }
    end({});
    task->look();
}

void holding::unlock(void* tag) {
    give_up(tag, [this](std::size_t member, std::uint64_t id, const impl::view_ptr& hold) {
        ctx_.all.unlock(member, id, hold);
    });
}

void holding::leave(void* tag, duration lease) {
    give_up(tag, [this, lease](std::size_t member, std::uint64_t id, const impl::view_ptr& hold) {
        ctx_.all.leave(member, id, hold, lease);
    });
}

void holding::extend(void* tag, duration lease) {
    const auto task = std::make_shared<extension>(ctx_, tag, shared_from_this(), lease);
    task->enter();
    task->expect_by(core::after(ctx_.now, ctx_.settings.operation_timeout), errc::not_connected);
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has(i)) {
            ctx_.all.extend(i, task->expect(i), member(i), lease);
        }
    }
    task->look();
}

void holding::extended(std::size_t i, duration lease) {
    if (held_) {
        options_.lease = std::max(*options_.lease, lease);
        if (has(i)) {
            note_end_of(i);
        }
        note_deadline();
    }
}

void holding::wait_lost(void* tag, duration before) {
    const auto w = std::make_shared<watch>(ctx_, tag, shared_from_this(), before);
    w->enter();
    if (watches_.size() >= ctx_.settings.max_pending) {
        w->end(errc::overloaded);
    } else {
        watches_.push_back(w);
        w->begin();
    }
}

void holding::remove(watch& w) noexcept {
    std::erase_if(watches_, [&](const auto& other) { return other.get() == &w; });
}

}  // namespace conch::group
