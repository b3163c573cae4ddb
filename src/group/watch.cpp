// SPDX-License-Identifier: BSL-1.0
#include "group/watch.hpp"

#include "core/time.hpp"
#include "group/holding.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::group {

namespace {

constexpr duration pause = std::chrono::milliseconds{100};

}  // namespace

watch::watch(context& ctx, void* tag, std::shared_ptr<holding> of, duration before)
    : task{ctx, tag},
      of_{std::move(of)},
      before_{before},
      notices_(ctx.size),
      again_{this, &watch::on_again},
      most_{this, &watch::on_most} {}

watch::~watch() {
    ctx().timers.cancel(again_);
    ctx().timers.cancel(most_);
}

void watch::begin() {
    for (std::size_t i = 0; i < notices_.size(); ++i) {
        if (of_->has(i)) {
            add(i);
        }
    }
    set_most();
}

// Members may last longer than the hold, and come to do so at any time: those that joined later,
// and those whose answer to an extension was lost.
void watch::set_most() {
    if (before_ > duration::zero() && of_->most() != core::never) {
        const time_point at = std::max(of_->most() - before_, ctx().now);
        ctx().timers.set(most_, core::after(at, members_first));
    }
}

// Looks again when it fires: an extension doesn't move it.
void watch::on_most(void* self_) {
    auto& w = *static_cast<watch*>(self_);
    if (core::after(w.ctx().now, w.before_) < w.of_->most()) {
        w.set_most();
        return;
    }
    const auto self = w.shared_from_this();
    w.of_->remove(w);
    w.end(w.of_->why_at_most());
}

void watch::add(std::size_t member) {
    const auto self = std::static_pointer_cast<watch>(shared_from_this());
    const std::uint64_t id = ctx().asked.add<&watch::heard>(self, member, of_->serial_of(member));
    notices_[member].asked = id;
    ctx().all.wait_lost(member, id, of_->member(member), before_);
}

void watch::heard(std::size_t member, std::uint64_t serial, reply& r) {
    told(member, serial, r.ec);
}

void watch::told(std::size_t member, std::uint64_t serial, error_code why) {
    if (completed() || !why || !of_->has(member, serial)) {
        return;
    }
    if (why == errc::overloaded) {
        if (of_->remaining(member) > before_) {
            watch_later(member, serial);
            return;
        }
        why = errc::lease_expired;  // what the watch would tell
    }
    notices_[member].told = serial;
    notices_[member].closing = why == errc::client_closed;
    recount(why);
}

// There may be room by then. The hold itself is watched whatever room there is.
void watch::watch_later(std::size_t member, std::uint64_t serial) {
    notices_[member].refused = serial;
    const time_point now = ctx().now;
    const time_point soon = now + of_->remaining(member) - before_;
    const time_point at = std::min(core::after(now, ctx().jitter(pause)), soon);
    ctx().timers.set(again_, again_.armed() ? std::min(at, again_.at) : at);
}

void watch::on_again(void* self_) {
    auto& w = *static_cast<watch*>(self_);
    const auto self = w.shared_from_this();
    for (std::size_t i = 0; i < w.notices_.size() && !w.completed(); ++i) {
        const std::uint64_t serial = std::exchange(w.notices_[i].refused, 0);
        if (serial == 0 || !w.of_->has(i, serial)) {
            continue;
        }
        if (w.of_->remaining(i) > w.before_) {
            w.add(i);
        } else {
            w.told(i, serial, errc::lease_expired);
        }
    }
}

void watch::recount(error_code why) {
    if (completed()) {
        return;
    }
    watch_renewed();
    if (silent() < ctx().how.needed) {
        of_->remove(*this);
        end(why);
    }
}

// A member that told ahead of time may have been renewed since.
void watch::watch_renewed() {
    for (std::size_t i = 0; i < notices_.size(); ++i) {
        notice& n = notices_[i];
        if (n.told != 0 && !n.closing && of_->has(i, n.told) && of_->remaining(i) > before_) {
            n.told = 0;
            add(i);
        }
    }
}

std::size_t watch::silent() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < notices_.size(); ++i) {
        count += of_->has(i) && notices_[i].told != of_->serial_of(i) ? 1u : 0u;
    }
    return count;
}

void watch::end(error_code why) {
    const auto self = shared_from_this();
    ctx().timers.cancel(again_);
    ctx().timers.cancel(most_);
    for (notice& n : notices_) {
        if (n.asked != 0) {
            ctx().all.withdraw(n.asked);
        }
    }
    complete(why);
}

void watch::cancel(error_code why) {
    of_->remove(*this);
    end(why);
}

}  // namespace conch::group
