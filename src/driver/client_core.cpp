// SPDX-License-Identifier: BSL-1.0
#include "driver/client_core.hpp"

#include "driver/client_name.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

config with_whole_name(config c, std::string_view id) {
    c.client_name = own_client_name(c.client_name, c.service, id);
    return c;
}

}  // namespace

client_core::client_core(asio::any_io_executor executor, config settings, std::string_view id,
                         std::uint64_t seed)
    : strand_core{std::move(executor)},
      id_{id},
      settings_{with_whole_name(std::move(settings), id)},
      tls_{make_tls(settings_)},
      engine_{settings_, id_, seed},
      connections_(engine_.links()) {
    if (settings_.observer) {
        engine_.set_caller_context([](const void* tag) {
            const auto& caller = static_cast<const operation*>(tag)->caller;
            return caller ? caller->get() : nullptr;
        });
    }
    join_context();
}

void client_core::abandon() noexcept {
    if (!inherited() && abandon_in_inbox()) {
        wake();
    }
}

void client_core::woken(bool asked) {
    was_asked_ = asked;
    if (was_asked_) {
        begin_turn();
        end_turn();
    } else if (std::exchange(read_later_, false)) {
        read();
    }
}

void client_core::on_time() {
    begin_turn();
    end_turn();
}

void client_core::begin_turn() {
    now_ = clock::now();
    if (settings_.deadlock_detection) {
        engine_.set_wall_clock(std::chrono::system_clock::now().time_since_epoch() -
                               now_.time_since_epoch());
    }
    engine_.begin_turn(now_);
    if (take_inbox() && !shutting_down_) {
        begin_shutdown({});
    }
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
    report_.renew(engine_);
    deliver();
    read_later_ = asks_behind();
    if (!read_later_) {
        read();
    }
    if (put_off_ || engine_.halted()) {
        come_back();
    }
}

void client_core::asked_of(hold_view& view, hold_request what) {
    switch (what) {
        case hold_request::detach: engine_.detach(view); break;
        case hold_request::drop: engine_.release_dropped(view); break;
        case hold_request::none:
        case hold_request::release: engine_.release(view); break;
    }
}

void client_core::begin(operation& op) { op.what.begin(*this, op); }

void client_core::cancel_running(operation& op) {
    if (op.running) {
        engine_.cancel(*op.running, asio::error::operation_aborted);
    } else if (std::erase(shutdowns_, &op) > 0) {
        engine_.completions().push_back({&op, asio::error::operation_aborted, {}, {}});
    }
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
            engine_.completions().push_back({op, {}, {}, {}});
        }
    }
    delivered_ = delivered_ || !engine_.completions().empty();
    strand_core::deliver(engine_.completions());
}

// What the handlers of this turn ask for is taken right behind them: woken by the first of them,
// the client would come after the next look for I/O. Whether it comes so.
bool client_core::asks_behind() {
    return std::exchange(delivered_, false) && was_asked_ && wakes() && wake();
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
        post(back_memory_, [this, self = shared_from_this()] { pass(back_); });
    }
}

void client_core::on_back(event& e) {
    client_core& self = static_cast<client_core&>(static_cast<core_event&>(e).of);
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
    strand_core::arm_timer(at, now_);
}

}  // namespace conch::impl
