// SPDX-License-Identifier: BSL-1.0
#include "group/tally.hpp"

namespace conch::group {

tally::tally(context& ctx, void* tag, kind k)
    : task{ctx, tag}, kind_{k}, late_at_{this, &tally::on_late} {}

tally::~tally() { ctx().timers.cancel(late_at_); }

void tally::expect_by(time_point at, error_code late) {
    late_ = late;
    ctx().timers.set(late_at_, at);
}

std::uint64_t tally::expect(std::size_t member) {
    ++open_;
    return ctx().asked.add<&tally::told>(std::static_pointer_cast<tally>(shared_from_this()),
                                         member);
}

void tally::told(std::size_t member, std::uint64_t, reply& r) {
    --open_;
    answered(member, r);
    if (!r.ec) {
        ++confirmed_;
    } else if (!why_ || why_ == errc::lease_expired) {  // others' leases may go on
        why_ = r.ec;
    }
    look();
}

void tally::look() {
    const std::size_t needed = ctx().how.needed;
    const bool wait =
        kind_ == kind::all ? open_ > 0 : confirmed_ < needed && confirmed_ + open_ >= needed;
    if (completed() || wait) {
        return;
    }
    if (confirmed_ >= needed) {
        conclude();
        end({});
    } else {
        end(why_ ? why_ : late_);
    }
}

void tally::on_late(void* self_) {
    auto& self = *static_cast<tally*>(self_);
    const auto keep = self.shared_from_this();
    if (!self.completed() && self.confirmed_ >= self.ctx().how.needed) {
        self.conclude();
        self.end({});
    } else {
        self.end(self.late_);
    }
}

void tally::end(error_code ec) {
    const auto keep = shared_from_this();
    ctx().timers.cancel(late_at_);
    over();
    complete(ec);
}

}  // namespace conch::group
