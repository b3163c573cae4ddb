// SPDX-License-Identifier: BSL-1.0
#include "api/vote.hpp"

#include "api/quorum_core.hpp"
#include "core/time.hpp"

#include <conch/impl/initiate.hpp>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace conch::impl {
namespace {

/// Between two looks at whether a server is there: no more than this, and a tenth of what it has
/// for its answer.
constexpr duration longest_pause = std::chrono::milliseconds{50};

/// For what the loop has read by then, and not yet handled.
constexpr duration last_look = std::chrono::milliseconds{1};

struct vote_result {
    using operation_type = operation;
    static std::tuple<error_code, hold, bool> take(operation& op) {
        return std::tuple_cat(hold_result<hold>::take(op), std::tuple{op.flag});
    }
};

}  // namespace

vote::vote(std::shared_ptr<quorum_core> core, std::size_t member, const lock_options& options,
           duration limit, asker& by)
    : core_{std::move(core)},
      member_{member},
      options_{options},
      by_{&by},
      again_{this, &vote::on_again},
      limit_{this, &vote::on_limit} {
    core_->timers().set(limit_, core::after(clock::now(), limit));
}

vote::~vote() {
    core_->timers().cancel(again_);
    core_->timers().cancel(limit_);
}

vote::pointer vote::ask(std::shared_ptr<quorum_core> core, std::size_t member,
                        const lock_options& options, duration limit, asker& by) {
    const auto v = std::make_shared<vote>(std::move(core), member, options, limit, by);
    v->begin();
    return v;
}

void vote::begin() {
    const quorum_member& m = core_->member(member_);
    auto done =
        core_->handler(cancel_, [self = shared_from_this()](error_code ec, hold h, bool unheard) {
            self->answer(ec, std::move(h), unheard);
        });
    start<void(error_code, hold, bool)>(
        initiate<vote_result>{request::try_lock, m.core, m.spec, nullptr}, done,
        asked_options{options_});
}

// Who finds others of the same client before it is refused at once, which says nothing of a server
// that is not connected: it may be dead, or about to be heard.
void vote::answer(error_code ec, hold h, bool unheard) {
    if (by_ && unheard) {
        const duration pause = std::min(core_->answer_timeout() / 10, longest_pause);
        core_->timers().set(again_, core::after(clock::now(), pause));
        return;
    }
    core_->timers().cancel(limit_);
    if (asker* const by = std::exchange(by_, nullptr)) {
        by->answered(member_, ec, std::move(h));
    } else {
        h.release();
    }
}

void vote::on_again(void* self) { static_cast<vote*>(self)->begin(); }

// The answer may have come while the loop was busy: it has as much time as that took to be looked
// at. Then the server is not waited for: what it grants later, its client takes back.
void vote::on_limit(void* self_) {
    const auto self = static_cast<vote*>(self_)->shared_from_this();
    const time_point now = clock::now();
    if (!std::exchange(self->looked_, true)) {
        const duration late = std::min(now - self->limit_.at, self->core_->answer_timeout());
        self->core_->timers().set(self->limit_, core::after(now, late + last_look));
        return;
    }
    asker* const by = std::exchange(self->by_, nullptr);
    self->core_->timers().cancel(self->again_);
    self->cancel_.emit(boost::asio::cancellation_type::terminal);
    if (by) {
        by->answered(self->member_, errc::not_connected, {});
    }
}

void vote::withdraw() {
    core_->timers().cancel(again_);
    core_->timers().cancel(limit_);
    by_ = nullptr;
    cancel_.emit(boost::asio::cancellation_type::terminal);
}

}  // namespace conch::impl
