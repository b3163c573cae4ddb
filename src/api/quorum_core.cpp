// SPDX-License-Identifier: BSL-1.0
#include "api/quorum_core.hpp"

#include "api/quorum_holding.hpp"
#include "driver/identity.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// The steady clock doesn't count suspend: no wait is longer, so that the first look after a
/// suspend comes soon.
constexpr duration longest_sleep = std::chrono::seconds{1};

quorum_holding& holding_of(hold_view& v) noexcept { return static_cast<quorum_holding&>(v); }

}  // namespace

void quorum_task::complete(error_code ec, view_ptr view) {
    operation* const done = std::exchange(op_, nullptr);
    if (done) {
        core_->remove(*this);
        done->core = core_;
        done->ec = ec;
        done->view = std::move(view);
        done->finish(done, true);
    }
}

quorum_core::quorum_core(std::vector<quorum_member> members, duration answer_timeout)
    : first_{members.front().core},
      members_{std::move(members)},
      answer_timeout_{answer_timeout},
      random_{random_seed()} {
    const context_use use{first_};
    const asio::any_io_executor ex = first_->executor();
    if (!ex) {  // the execution context is gone
        gate_.close();
        return;
    }
    strand_.emplace(asio::make_strand(ex));
    timer_.emplace(*strand_);
    peers_ = asio::use_service<client_service>(asio::query(ex, asio::execution::context)).clients();
    peers_->add(*this);
}

// No handler is pending any more, so nobody can be told: what is left is dropped.
quorum_core::~quorum_core() {
    drop_all();
    if (peers_) {
        peers_->remove(*this);
    }
}

void quorum_core::context_gone() noexcept {
    gate_.close();
    drop_all();
}

void quorum_core::drop_all() noexcept {
    inbox::contents in = inbox_.take();
    while (in.operations) {
        operation& op = *in.operations;
        in.operations = op.next;
        op.finish(&op, false);
    }
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
    }
    cancellable_.clear();
    std::exchange(tasks_, {}).clear();
    for (const auto& [h, view] : std::exchange(holdings_, {})) {
        h->drop();
    }
    timer_.reset();
    strand_.reset();
}

std::string quorum_core::servers() const {
    std::string all;
    for (const quorum_member& m : members_) {
        all += (all.empty() ? "" : ", ") + m.core->servers();
    }
    return all;
}

void quorum_core::submit(operation& op) noexcept {
    // Whoever closes the gate drops what is in the inbox then.
    if (!gate_.enter()) {
        op.finish(&op, false);
        return;
    }
    if (inbox_.put(op)) {
        wake();
    }
    gate_.leave();
}

void quorum_core::cancel(std::uint64_t ticket) noexcept {
    try {
        if (inbox_.cancel(ticket)) {
            wake();
        }
    } catch (...) {  // no memory to note it: as if it had come too late
    }
}

void quorum_core::look_at(hold_view& view) noexcept {
    if (inbox_.put(view)) {
        wake();
    }
}

void quorum_core::wake() noexcept {
    if (!gate_.enter()) {
        inbox_.not_woken();
        return;
    }
    try {
        asio::post(handler([] {}));
    } catch (...) {
        inbox_.not_woken();  // the next handler takes it
    }
    gate_.leave();
}

void quorum_core::take_inbox() {
    if (!inbox_.awake()) {
        return;
    }
    inbox::contents in = inbox_.take();
    // First: who releases and then locks again shall not meet their own hold.
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
        if (view->asked.load(std::memory_order_acquire) == hold_request::detach) {
            holding_of(*view).detach();
        } else {
            holding_of(*view).release();
        }
    }
    // Nor what they have just cancelled. The rest of the tickets may be those of what starts now.
    const auto cancel = [this](std::uint64_t ticket) {
        const auto it = cancellable_.find(ticket);
        if (it == cancellable_.end()) {
            return false;
        }
        const auto task = it->second->shared_from_this();
        task->cancel();
        return true;
    };
    std::erase_if(in.cancelled, cancel);
    while (in.operations) {
        operation& op = *in.operations;
        in.operations = op.next;
        start(op);
    }
    std::ranges::for_each(in.cancelled, cancel);
}

void quorum_core::start(operation& op) {
    if (op.what.begin_at_majority) {
        op.what.begin_at_majority(*this, op);
    } else {
        op.finish(&op, false);
    }
}

void quorum_core::add(const std::shared_ptr<quorum_task>& task) {
    tasks_.emplace(task.get(), task);
    if (task->ticket() != 0) {
        cancellable_.emplace(task->ticket(), task.get());
    }
}

void quorum_core::remove(quorum_task& task) noexcept {
    cancellable_.erase(task.ticket());
    tasks_.erase(&task);
}

void quorum_core::add(quorum_holding& h) { holdings_.emplace(&h, view_ptr{&h}); }

void quorum_core::remove(quorum_holding& h) noexcept { holdings_.erase(&h); }

void quorum_core::arm_timer() {
    if (!timer_) {
        return;
    }
    const time_point now = clock::now();
    while (core::timer* const due = timers_.pop_due(now)) {
        due->fire(due->owner);
    }
    if (timers_.empty()) {
        if (std::exchange(timer_at_, time_point::max()) != time_point::max()) {
            timer_->cancel();
        }
        return;
    }
    const time_point at = std::min(std::max(timers_.next(), now), now + longest_sleep);
    if (now <= timer_at_ && timer_at_ <= at) {
        return;  // it looks again when it fires
    }
    timer_at_ = at;
    timer_->expires_after(at - now);
    timer_->async_wait(handler([this](error_code ec) {
        if (ec != asio::error::operation_aborted) {
            timer_at_ = time_point::max();
        }
    }));
}

}  // namespace conch::impl
