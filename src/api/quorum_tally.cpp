// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_tally.hpp"

#include "api/quorum_core.hpp"

#include <boost/asio/error.hpp>

namespace conch::impl {

std::shared_ptr<quorum_tally> quorum_tally::start(const std::shared_ptr<quorum_core>& core,
                                                  operation& op, kind k) {
    const auto self = std::make_shared<quorum_tally>(core, op, k);
    core->add(self);
    return self;
}

quorum_tally::quorum_tally(const std::shared_ptr<quorum_core>& core, operation& op, kind k)
    : quorum_task{core, op}, kind_{k}, late_at_{this, &quorum_tally::on_late} {}

quorum_tally::~quorum_tally() { core().timers().cancel(late_at_); }

void quorum_tally::expect_by(time_point at, error_code late) {
    late_ = late;
    core().timers().set(late_at_, at);
}

void quorum_tally::told(error_code ec) {
    --open_;
    if (ec) {
        why_ = ec;
    } else {
        ++confirmed_;
    }
    look();
}

void quorum_tally::look() {
    const std::size_t majority = core().majority();
    const bool wait =
        kind_ == kind::all ? open_ > 0 : confirmed_ < majority && confirmed_ + open_ >= majority;
    if (completed() || wait) {
        return;
    }
    if (confirmed_ >= majority) {
        conclude();
        end({});
    } else {
        end(why_ ? why_ : late_);
    }
}

void quorum_tally::on_late(void* self_) {
    auto& self = *static_cast<quorum_tally*>(self_);
    const auto keep = self.shared_from_this();
    if (!self.completed() && self.confirmed_ >= self.core().majority()) {
        self.conclude();
        self.end({});
    } else {
        self.end(self.late_);
    }
}

void quorum_tally::end(error_code ec) {
    const auto keep = shared_from_this();
    core().timers().cancel(late_at_);
    over();
    complete(ec);
}

void quorum_tally::cancel() { end(boost::asio::error::operation_aborted); }

}  // namespace conch::impl
