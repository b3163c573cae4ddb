// SPDX-License-Identifier: BSL-1.0
#include "driver/strand_core.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// The steady clock doesn't count suspend: no wait is longer, so that the first turn after a
/// suspend comes soon.
constexpr duration longest_sleep = std::chrono::seconds{1};

}  // namespace

// There may be none: what belongs to a context that is gone.
strand_core::strand_core(asio::any_io_executor executor) : executor_{std::move(executor)} {
    if (executor_) {
        timer_.emplace(executor_);
    } else {
        gate_.close();
    }
}

void strand_core::join_context() {
    if (executor_) {
        auto& context = asio::query(executor_, asio::execution::context);
        peers_ = asio::use_service<client_service>(context).clients();
        peers_->add(*this);
    }
}

void strand_core::give_context_up() noexcept {
    timer_.reset();
    executor_ = {};
}

void strand_core::leave_context_service() noexcept {
    give_context_up();
    if (peers_) {
        peers_->remove(*this);
    }
}

void strand_core::submit(operation& op) noexcept {
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

void strand_core::cancel(std::uint64_t ticket) noexcept {
    try {
        if (inbox_.cancel(ticket)) {
            wake();
        }
    } catch (...) {  // no memory to note it: as if it had come too late
    }
}

void strand_core::look_at(hold_view& view) noexcept {
    if (inbox_.put(view)) {
        wake();
    }
}

bool strand_core::wake() noexcept {
    if (!gate_.enter()) {
        inbox_.not_woken();
        return false;
    }
    bool woken = true;
    try {
        post(wake_memory_, [self = shared_from_this()] { self->pass(self->woken_); });
    } catch (...) {
        inbox_.not_woken();  // the next turn takes it
        woken = false;
    }
    gate_.leave();
    return woken;
}

void strand_core::on_woken(event& e) {
    strand_core& self = static_cast<core_event&>(e).of;
    // Another turn may have taken everything.
    self.woken(self.inbox_.awake());
}

asio::any_io_executor strand_core::executor() const noexcept {
    if (!gate_.enter()) {
        return {};
    }
    asio::any_io_executor copy = executor_;
    gate_.leave();
    return copy;
}

bool strand_core::take_inbox() {
    inbox::contents in = inbox_.take();
    // First: who releases and then locks again shall not meet their own hold.
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
        asked_of(*view, view->asked.load(std::memory_order_acquire));
    }
    // Nor what they have just cancelled, whether it runs already or starts now.
    std::erase_if(in.cancelled, [this](std::uint64_t ticket) { return cancel_now(ticket); });
    while (in.operations) {
        operation& op = *in.operations;
        in.operations = op.next;
        const std::uint64_t ticket = op.ticket;
        start(op);
        if (ticket != 0 && std::erase(in.cancelled, ticket) > 0) {
            cancel_now(ticket);
        }
    }
    return in.abandoned;
}

void strand_core::start(operation& op) {
    op.running = nullptr;
    if (op.ticket != 0) {
        cancellable_.emplace(std::uint64_t{op.ticket}, &op);
    }
    begin(op);
}

bool strand_core::cancel_now(std::uint64_t ticket) {
    const auto it = cancellable_.find(ticket);
    if (it == cancellable_.end()) {
        return false;
    }
    cancel_running(*it->second);
    return true;
}

void strand_core::deliver(std::vector<lock::completion>& ended) {
    if (ended.empty()) {
        return;
    }
    const core_ptr self = shared_from_this();
    for (lock::completion& c : ended) {
        operation& op = *static_cast<operation*>(c.tag);
        op.core = self;
        op.ec = c.ec;
        op.view = std::move(c.view);
        op.said = c.said;
        op.caller.reset();
        if (op.ticket != 0) {
            cancellable_.erase(op.ticket);
        }
        op.finish(&op, true);
    }
    ended.clear();
}

// They may own holds and clients, which leave their farewell in the inbox: nobody reads it any
// more.
void strand_core::discard(std::vector<lock::completion>& ended) noexcept {
    for (lock::completion& c : std::exchange(ended, {})) {
        c.view.reset();
        operation& op = *static_cast<operation*>(c.tag);
        op.finish(&op, false);
    }
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
}

void strand_core::arm_timer(time_point at, time_point now) {
    if (at == time_point::max()) {
        if (timer_at_ != time_point::max()) {
            timer_at_ = time_point::max();
            timer_->cancel();
        }
        return;
    }
    at = std::min(std::max(at, now), now + longest_sleep);
    if (now <= timer_at_ && timer_at_ <= at) {
        return;  // it looks again when it fires, which may be late after a suspend
    }
    timer_at_ = at;
    // In this order: what passes between the two, as in a long turn, makes it fire early, not late.
    const auto steady = std::chrono::steady_clock::now();
    timer_->expires_at(steady + (at - clock::now()));
    timer_->async_wait(asio::bind_allocator(handler_memory::allocator<>{timer_memory_},
                                            [self = shared_from_this()](error_code ec) {
                                                if (ec != asio::error::operation_aborted) {
                                                    self->pass(self->timed_);
                                                }
                                            }));
}

void strand_core::on_timer(event& e) {
    strand_core& self = static_cast<core_event&>(e).of;
    self.timer_at_ = time_point::max();
    self.on_time();
}

}  // namespace conch::impl
