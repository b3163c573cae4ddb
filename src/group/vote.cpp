// SPDX-License-Identifier: BSL-1.0
#include "group/vote.hpp"

#include "core/time.hpp"
#include "group/context.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::group {
namespace {

/// Between two looks at whether a server is there: no more than this, and a tenth of what it has
/// for its answer.
constexpr duration longest_pause = std::chrono::milliseconds{50};

/// For what the loop has read by then, and not yet handled.
constexpr duration last_look = std::chrono::milliseconds{1};

}  // namespace

vote::vote(context& ctx, std::size_t member, const lock_options& options, duration limit, asker& by)
    : ctx_{ctx},
      member_{member},
      options_{options},
      by_{&by},
      again_{this, &vote::on_again},
      limit_{this, &vote::on_limit} {
    ctx_.timers.set(limit_, core::after(ctx_.now, limit));
}

vote::~vote() { stop(); }

vote::pointer vote::ask(context& ctx, std::size_t member, const lock_options& options,
                        duration limit, asker& by) {
    const auto v = std::make_shared<vote>(ctx, member, options, limit, by);
    v->begin();
    return v;
}

void vote::begin() {
    id_ = ctx_.asked.add<&vote::told>(shared_from_this(), member_);
    ctx_.all.try_lock(member_, id_, options_);
}

void vote::stop() noexcept {
    ctx_.timers.cancel(again_);
    ctx_.timers.cancel(limit_);
}

// Who finds others of the same client before it is refused at once, which says nothing of a server
// that is not connected: it may be dead, or about to be heard.
void vote::told(std::size_t, std::uint64_t, reply& r) {
    id_ = 0;
    if (by_ && r.said == impl::remark::unasked) {
        const duration pause = std::min(ctx_.how.answer_timeout / 10, longest_pause);
        ctx_.timers.set(again_, core::after(ctx_.now, pause));
        return;
    }
    stop();
    if (asker* const by = std::exchange(by_, nullptr)) {
        by->answered(member_, r.ec, std::move(r.view));
    } else if (r.view) {
        ctx_.all.release(member_, r.view);
    }
}

void vote::on_again(void* self) { static_cast<vote*>(self)->begin(); }

// The answer may have come while the loop was busy: it has as much time as that took to be looked
// at. Then the server is not waited for: what it grants later, its client takes back.
void vote::on_limit(void* self_) {
    const auto self = static_cast<vote*>(self_)->shared_from_this();
    context& ctx = self->ctx_;
    if (!std::exchange(self->looked_, true)) {
        const duration late = std::min(ctx.now - self->limit_.at, ctx.how.answer_timeout);
        ctx.timers.set(self->limit_, core::after(ctx.now, late + last_look));
        return;
    }
    asker* const by = self->by_;
    self->withdraw();
    if (by) {
        by->answered(self->member_, errc::not_connected, nullptr);
    }
}

void vote::withdraw() {
    stop();
    by_ = nullptr;
    if (id_ != 0) {
        ctx_.all.withdraw(id_);
    }
}

}  // namespace conch::group
