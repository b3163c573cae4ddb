// SPDX-License-Identifier: BSL-1.0
#include "driver/client_core.hpp"

#include "driver/client_name.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// The steady clock doesn't count suspend: no wait is longer, so that the first turn after a
/// suspend comes soon.
constexpr duration longest_sleep = std::chrono::seconds{1};

// Where it is known what `ex` is, the handler's own allocator is used.
template <typename Handler>
void post_on(const asio::any_io_executor& ex, Handler&& handler) {
    if (const auto* const of_context = ex.target<asio::io_context::executor_type>()) {
        asio::post(*of_context, std::forward<Handler>(handler));
    } else {
        asio::post(ex, std::forward<Handler>(handler));
    }
}

config with_whole_name(config c, std::string_view id) {
    c.client_name = own_client_name(c.client_name, id);
    return c;
}

}  // namespace

client_core::client_core(asio::any_io_executor executor, config settings, std::string_view id,
                         std::uint64_t seed)
    : executor_{std::move(executor)},
      timer_{executor_},
      id_{id},
      settings_{with_whole_name(std::move(settings), id)},
      tls_{make_tls(settings_)},
      engine_{settings_, id_, seed},
      connections_(engine_.links()) {
    auto& context = asio::query(executor_, asio::execution::context);
    peers_ = asio::use_service<client_service>(context).clients();
    peers_->add(*this);
}

void client_core::submit(operation& op) noexcept {
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

void client_core::cancel(std::uint64_t ticket) noexcept {
    try {
        if (inbox_.cancel(ticket)) {
            wake();
        }
    } catch (...) {  // no memory to note it: as if it had come too late
    }
}

void client_core::look_at(hold_view& view) noexcept {
    if (inbox_.put(view)) {
        wake();
    }
}

void client_core::abandon() noexcept {
    if (!inherited() && inbox_.abandon()) {
        wake();
    }
}

bool client_core::wake() noexcept {
    if (!gate_.enter()) {
        inbox_.not_woken();
        return false;
    }
    bool woken = true;
    try {
        post_on(executor_,
                asio::bind_allocator(handler_memory::allocator<>{wake_memory_},
                                     [self = shared_from_this()] { self->pass(self->woken_); }));
    } catch (...) {
        inbox_.not_woken();  // the next turn takes it
        woken = false;
    }
    gate_.leave();
    return woken;
}

void client_core::on_woken(event& e) {
    client_core& self = static_cast<client_event&>(e).of;
    // Another turn may have taken everything.
    self.was_asked_ = self.inbox_.awake();
    if (self.was_asked_) {
        self.begin_turn();
        self.end_turn();
    } else if (std::exchange(self.read_later_, false)) {
        self.read();
    }
}

asio::any_io_executor client_core::executor() const noexcept {
    if (!gate_.enter()) {
        return {};
    }
    asio::any_io_executor copy = executor_;
    gate_.leave();
    return copy;
}

void client_core::begin_turn() {
    now_ = clock::now();
    engine_.begin_turn(now_);
    take_inbox();
}

void client_core::end_turn() {
    engine_.end_turn();
    if (!closed_ && (engine_.drained() || now_ >= shutdown_by_)) {
        end_shutdown();
    }
    tend_connections();
    // Where all that is to be written is an UNSUBSCRIBE, those who got their locks go on first.
    put_off_ = !put_off_ && !engine_.completions().empty() && engine_.unhurried();
    if (!put_off_) {
        write();
    }
    arm_timer();
    publish();
    deliver();
    read_later_ = asks_behind();
    if (!read_later_) {
        read();
    }
    if (put_off_ || engine_.halted()) {
        come_back();
    }
}

void client_core::take_inbox() {
    inbox::contents in = inbox_.take();
    // First: who releases and then locks again shall not meet their own hold.
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
        switch (view->asked.load(std::memory_order_acquire)) {
            case hold_request::detach: engine_.detach(*view); break;
            case hold_request::drop: engine_.release_dropped(*view); break;
            case hold_request::none:
            case hold_request::release: engine_.release(*view); break;
        }
    }
    // Nor what they have just cancelled. The rest of the tickets may be those of what starts now.
    std::erase_if(in.cancelled, [this](std::uint64_t ticket) { return cancel_now(ticket); });
    while (in.operations) {
        operation& op = *in.operations;
        in.operations = op.next;
        start(op);
    }
    for (const std::uint64_t ticket : in.cancelled) {
        cancel_now(ticket);
    }
    if (in.abandoned && !shutting_down_) {
        begin_shutdown({});
    }
}

void client_core::start(operation& op) {
    op.running = nullptr;
    if (op.ticket != 0) {
        cancellable_.emplace(op.ticket, &op);
    }
    op.what.begin(*this, op);
}

bool client_core::cancel_now(std::uint64_t ticket) {
    const auto it = cancellable_.find(ticket);
    if (it == cancellable_.end()) {
        return false;
    }
    operation& op = *it->second;
    if (op.running) {
        engine_.cancel(*op.running, asio::error::operation_aborted);
    } else if (std::erase(shutdowns_, &op) > 0) {
        engine_.completions().push_back({&op, asio::error::operation_aborted, {}, false});
    }
    return true;
}

void client_core::shut_down(operation& op) {
    shutdowns_.push_back(&op);
    begin_shutdown(op.options.amount());
}

void client_core::begin_shutdown(duration drain) {
    if (closed_) {
        return;
    }
    shutting_down_ = true;
    drain = std::max(drain, duration{});
    shutdown_by_ =
        std::min(shutdown_by_, core::after(core::after(now_, drain), settings_.response_timeout));
    engine_.shutdown(drain);
}

void client_core::end_shutdown() {
    closed_ = true;
    engine_.close();
}

void client_core::deliver() {
    if (closed_) {
        for (operation* op : std::exchange(shutdowns_, {})) {
            engine_.completions().push_back({op, {}, {}, false});
        }
    }
    std::vector<lock::completion>& ended = engine_.completions();
    if (ended.empty()) {
        return;
    }
    const core_ptr self = shared_from_this();
    for (lock::completion& c : ended) {
        operation& op = *static_cast<operation*>(c.tag);
        op.core = self;
        op.ec = c.ec;
        op.view = std::move(c.view);
        op.flag = c.flag;
        if (op.ticket != 0) {
            cancellable_.erase(op.ticket);
        }
        op.finish(&op, true);
    }
    ended.clear();
    delivered_ = true;
}

// What the handlers of this turn ask for is taken right behind them: woken by the first of them,
// the client would come after the next look for I/O. Whether it comes so.
bool client_core::asks_behind() {
    return std::exchange(delivered_, false) && was_asked_ && inbox_.wakes() && wake();
}

// After the turn's completions were queued: their handlers run before what is read next is handled,
// and what they ask for leaves with that turn's answers, or before: to begin to read is a call of
// the system, for which they need not wait.
void client_core::read() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        connection& c = connections_[i];
        if (c.ready && !c.reading && !engine_.halted(i)) {
            c.reading = true;
            c.at->read();
        }
    }
}

// Another turn, behind the handlers that are queued.
void client_core::come_back() {
    if (!std::exchange(coming_back_, true)) {
        post_on(executor_,
                asio::bind_allocator(handler_memory::allocator<>{back_memory_},
                                     [self = shared_from_this()] { self->pass(self->back_); }));
    }
}

void client_core::on_back(event& e) {
    client_core& self = static_cast<client_event&>(e).of;
    self.coming_back_ = false;
    self.begin_turn();
    self.end_turn();
}

void client_core::arm_timer() {
    if (engine_.halted()) {
        return;  // the next turn comes at once
    }
    time_point at = closed_ ? time_point::max() : engine_.next_deadline();
    if (!closed_) {
        at = std::min(at, shutdown_by_);
    }
    if (at == time_point::max()) {
        if (timer_at_ != time_point::max()) {
            timer_at_ = time_point::max();
            timer_->cancel();
        }
        return;
    }
    at = std::min(std::max(at, now_), now_ + longest_sleep);
    if (now_ <= timer_at_ && timer_at_ <= at) {
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

void client_core::on_timer(event& e) {
    client_core& self = static_cast<client_event&>(e).of;
    self.timer_at_ = time_point::max();
    self.begin_turn();
    self.end_turn();
}

void client_core::publish() {
    const std::lock_guard guard{published_mutex_};
    engine_.copy_counters(published_);
    if (published_words_ != engine_.last_words()) {
        published_words_ = engine_.last_words();
    }
}

stats client_core::counters() const {
    const std::lock_guard guard{published_mutex_};
    return published_;
}

std::string client_core::last_words() const {
    const std::lock_guard guard{published_mutex_};
    return published_words_;
}

}  // namespace conch::impl
