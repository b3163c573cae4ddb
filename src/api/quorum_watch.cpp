// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_watch.hpp"

#include "api/quorum_core.hpp"
#include "api/quorum_holding.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace conch::impl {

namespace asio = boost::asio;

quorum_watch::quorum_watch(const std::shared_ptr<quorum_core>& core, operation& op,
                           quorum_holding& of)
    : quorum_task{core, op}, of_{&of}, before_{op.options.amount()}, notices_(core->size()) {}

quorum_watch::~quorum_watch() = default;

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
    notices_[member].told = serial;
    notices_[member].closing = why == errc::client_closed;
    recount(why);
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
