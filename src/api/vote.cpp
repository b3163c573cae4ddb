// SPDX-License-Identifier: BSL-1.0
#include "api/vote.hpp"

#include "api/quorum_core.hpp"

#include <utility>

namespace conch::impl {

vote::vote(std::shared_ptr<quorum_core> core, std::size_t member, asker& by)
    : core_{std::move(core)}, member_{member}, by_{&by}, limit_{this, &vote::on_limit} {}

vote::~vote() { core_->timers().cancel(limit_); }

vote::pointer vote::ask(std::shared_ptr<quorum_core> core, std::size_t member,
                        const lock_options& options, duration limit, asker& by) {
    quorum_core& c = *core;
    const auto v = std::make_shared<vote>(std::move(core), member, by);
    c.timers().set(v->limit_, core::after(clock::now(), limit));
    c.member(member).async_try_lock(options, c.handler(v->cancel_, [v](error_code ec, hold h) {
        v->answer(ec, std::move(h));
    }));
    return v;
}

void vote::answer(error_code ec, hold h) {
    core_->timers().cancel(limit_);
    if (asker* const by = std::exchange(by_, nullptr)) {
        by->answered(member_, ec, std::move(h));
    }
}

// The server is not waited for: what it grants later, its client takes back.
void vote::on_limit(void* self_) {
    const auto self = static_cast<vote*>(self_)->shared_from_this();
    asker* const by = std::exchange(self->by_, nullptr);
    self->cancel_.emit(boost::asio::cancellation_type::terminal);
    if (by) {
        by->answered(self->member_, errc::not_connected, {});
    }
}

void vote::withdraw() {
    core_->timers().cancel(limit_);
    by_ = nullptr;
    cancel_.emit(boost::asio::cancellation_type::terminal);
}

}  // namespace conch::impl
