// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_watch.hpp"

#include "api/quorum_core.hpp"
#include "api/quorum_holding.hpp"
#include "core/time.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::impl {

namespace asio = boost::asio;

namespace {

constexpr duration pause = std::chrono::milliseconds{100};

}  // namespace

quorum_watch::quorum_watch(const std::shared_ptr<quorum_core>& core, operation& op,
                           quorum_holding& of)
    : quorum_task{core, op},
      of_{&of},
      before_{op.options.amount()},
      notices_(core->size()),
      again_{this, &quorum_watch::on_again} {}

quorum_watch::~quorum_watch() { core().timers().cancel(again_); }

void quorum_watch::watch(std::size_t member) {
    const auto self = std::static_pointer_cast<quorum_watch>(shared_from_this());
    const std::uint64_t serial = of_->serial_of(member);
    of_->member(member).async_wait_lost(
        before_, core().handler(notices_[member].stop, [self, member, serial](error_code ec) {
            self->told(member, serial, ec);
        }));
}

void quorum_watch::told(std::size_t member, std::uint64_t serial, error_code why) {
    if (completed() || !why || !of_->has(member, serial)) {
        return;
    }
    if (why == errc::overloaded) {
        if (of_->member(member).remaining() > before_) {
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
void quorum_watch::watch_later(std::size_t member, std::uint64_t serial) {
    notices_[member].refused = serial;
    const time_point now = clock::now();
    const time_point soon = of_->member(member).valid_until() - before_;
    const time_point at = std::min(core::after(now, core().jitter(pause)), soon);
    core().timers().set(again_, again_.armed() ? std::min(at, again_.at) : at);
}

void quorum_watch::on_again(void* self_) {
    auto& w = *static_cast<quorum_watch*>(self_);
    const auto self = w.shared_from_this();
    for (std::size_t i = 0; i < w.notices_.size() && !w.completed(); ++i) {
        const std::uint64_t serial = std::exchange(w.notices_[i].refused, 0);
        if (serial == 0 || !w.of_->has(i, serial)) {
            continue;
        }
        if (w.of_->member(i).remaining() > w.before_) {
            w.watch(i);
        } else {
            w.told(i, serial, errc::lease_expired);
        }
    }
}

void quorum_watch::recount(error_code why) {
    if (completed()) {
        return;
    }
    watch_renewed();
    if (silent() < core().majority()) {
        of_->remove(*this);
        end(why);
    }
}

// A member that told ahead of time may have been renewed since.
void quorum_watch::watch_renewed() {
    for (std::size_t i = 0; i < notices_.size(); ++i) {
        notice& n = notices_[i];
        if (n.told != 0 && !n.closing && of_->has(i, n.told) &&
            of_->member(i).remaining() > before_) {
            n.told = 0;
            watch(i);
        }
    }
}

std::size_t quorum_watch::silent() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < notices_.size(); ++i) {
        count += of_->has(i) && notices_[i].told != of_->serial_of(i) ? 1u : 0u;
    }
    return count;
}

void quorum_watch::end(error_code why) {
    const auto self = shared_from_this();
    core().timers().cancel(again_);
    for (notice& n : notices_) {
        n.stop.emit(asio::cancellation_type::terminal);
    }
    complete(why);
}

void quorum_watch::cancel() {
    of_->remove(*this);
    end(asio::error::operation_aborted);
}

}  // namespace conch::impl
