// SPDX-License-Identifier: BSL-1.0
#include "driver/client_core.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// The steady clock doesn't count suspend: no wait is longer, so that the first turn after a
/// suspend comes soon.
constexpr duration longest_sleep = std::chrono::seconds{1};

operation& operation_of(const lock::completion& c) noexcept {
    return *static_cast<operation*>(c.tag);
}

}  // namespace

client_core::client_core(asio::any_io_executor executor, config settings, std::string_view id,
                         std::uint64_t seed)
    : executor_{std::move(executor)},
      io_{executor_},
      id_{id},
      settings_{std::move(settings)},
      engine_{settings_, id_, seed} {
    auto& context = asio::query(executor_, asio::execution::context);
    peers_ = asio::use_service<client_service>(context).clients();
    peers_->add(*this);
}

// No handler is pending any more, so nobody can be told: what is left is dropped.
client_core::~client_core() {
    engine_.close();
    discard();
    stream_.reset();
    io_.reset();
    executor_ = {};
    peers_->remove(*this);
}

void client_core::context_gone() noexcept {
    gate_.close();
    closed_ = true;
    engine_.close();
    if (stream_) {
        stream_->close();
        stream_.reset();
    }
    discard();
    io_.reset();
    executor_ = {};
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
    if (inbox_.abandon()) {
        wake();
    }
}

void client_core::wake() noexcept {
    if (!gate_.enter()) {
        inbox_.not_woken();
        return;
    }
    try {
        asio::post(io_->strand, [self = shared_from_this()] {
            self->begin_turn();
            self->end_turn();
        });
    } catch (...) {
        inbox_.not_woken();  // the next turn takes it
    }
    gate_.leave();
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
    tend_connection();
    write();
    arm_timer();
    publish();
    deliver();
}

void client_core::take_inbox() {
    inbox::contents in = inbox_.take();
    // First: who releases and then locks again shall not meet their own hold.
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
        if (view->asked.load(std::memory_order_acquire) == hold_request::detach) {
            engine_.detach(*view);
        } else {
            engine_.release(*view);
        }
    }
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
    const lock::caller by{&op, &op.running};
    if (op.ticket != 0) {
        cancellable_.emplace(op.ticket, &op);
    }
    switch (op.what) {
        case request::lock:
        case request::try_lock:
            engine_.acquire(op.spec, op.options, op.what == request::try_lock, by, op.owner);
            return;
        case request::unlock: engine_.unlock(std::exchange(op.view, nullptr), by); return;
        case request::extend:
            engine_.extend(std::exchange(op.view, nullptr), op.amount, by);
            return;
        case request::wait_lost:
            engine_.wait_lost(std::exchange(op.view, nullptr), op.amount, by);
            return;
        case request::status: engine_.status(op.spec, by, &op.status); return;
        case request::force_unlock: engine_.force_unlock(op.spec, by); return;
        case request::permits:
        case request::try_permits:
            engine_.permits(op.limit, op.permits, op.amount, op.what == request::try_permits, by,
                            &op.verdict, op.flag);
            return;
        case request::shutdown:
            shutdowns_.push_back(&op);
            begin_shutdown(op.amount);
            return;
    }
}

void client_core::cancel_now(std::uint64_t ticket) {
    const auto it = cancellable_.find(ticket);
    if (it == cancellable_.end()) {
        return;
    }
    operation& op = *it->second;
    if (op.running) {
        engine_.cancel(*op.running, asio::error::operation_aborted);
    } else if (std::erase(shutdowns_, &op) > 0) {
        engine_.completions().push_back({&op, asio::error::operation_aborted, {}, false});
    }
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
        operation& op = operation_of(c);
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
}

void client_core::tend_connection() {
    const std::uint64_t wanted = engine_.wanted_connection();
    if (stream_ && stream_->number() != wanted) {
        connected_ = false;
        stream_->close();
        stream_.reset();
    }
    if (!stream_ && wanted != 0) {
        stream_ = std::make_shared<stream>(*this, wanted);
        stream_->connect(settings_);
    }
}

void client_core::on_connected(stream& s) {
    if (&s != stream_.get()) {
        return;
    }
    connected_ = true;
    begin_turn();
    if (&s == stream_.get() && s.number() == engine_.wanted_connection()) {
        engine_.connected();
        s.read();
    }
    end_turn();
}

void client_core::on_read(stream& s, std::size_t n) {
    if (&s != stream_.get()) {
        return;
    }
    begin_turn();
    if (s.number() == engine_.wanted_connection()) {
        engine_.input().commit(n);
        engine_.received();
    }
    end_turn();
    if (&s == stream_.get()) {
        s.read();
    }
}

void client_core::on_written(stream& s) {
    if (&s != stream_.get()) {
        return;
    }
    if (engine_.has_output()) {
        begin_turn();
        end_turn();
    }
}

void client_core::on_broken(stream& s, error_code why) {
    if (&s != stream_.get() || why == asio::error::operation_aborted) {
        return;
    }
    begin_turn();
    if (s.number() == engine_.wanted_connection()) {
        engine_.connection_broken(why.message());
    }
    end_turn();
}

void client_core::write() {
    if (!connected_ || stream_->writing() || !engine_.has_output()) {
        return;
    }
    engine_.stage(stream_->output());
    stream_->write();
}

void client_core::arm_timer() {
    time_point at = closed_ ? time_point::max() : engine_.next_deadline();
    if (!closed_) {
        at = std::min(at, shutdown_by_);
    }
    if (at == time_point::max()) {
        if (timer_at_ != time_point::max()) {
            timer_at_ = time_point::max();
            io_->timer.cancel();
        }
        return;
    }
    at = std::min(std::max(at, now_), now_ + longest_sleep);
    if (timer_at_ <= at) {
        return;  // it looks again when it fires
    }
    timer_at_ = at;
    io_->timer.expires_after(at - now_);
    io_->timer.async_wait([self = shared_from_this()](error_code ec) {
        if (ec != asio::error::operation_aborted) {
            self->on_timer();
        }
    });
}

void client_core::on_timer() {
    timer_at_ = time_point::max();
    begin_turn();
    end_turn();
}

void client_core::publish() {
    const stats now = engine_.counters();
    const std::lock_guard guard{published_mutex_};
    published_ = now;
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

// Destroys the handlers of all operations. They may own holds and clients, which leave their
// farewell in the inbox: nobody reads it any more.
void client_core::discard() noexcept {
    std::vector<lock::completion> ended;
    ended.swap(engine_.completions());
    for (lock::completion& c : ended) {
        c.view.reset();
        operation& op = operation_of(c);
        op.finish(&op, false);
    }
    for (operation* op : std::exchange(shutdowns_, {})) {
        op->finish(op, false);
    }
    drop_inbox();
}

void client_core::drop_inbox() noexcept {
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

}  // namespace conch::impl
