// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_ATTEMPT_HPP
#define CONCH_TEST_SUPPORT_ATTEMPT_HPP

#include <conch/conch.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <utility>

namespace conch::test {

/// One asynchronous operation in flight, started with a callback, that a test can watch and
/// cancel while it drives the context step by step. `Values`: what the handler gets after the code.
template <typename Value>
class attempt {
public:
    /// Starts it: `start(token)`.
    template <typename Start>
    explicit attempt(Start start) : state_{std::make_shared<state>()} {
        start(boost::asio::bind_cancellation_slot(state_->signal.slot(), on_done{state_}));
    }

    bool done() const noexcept { return state_->completions > 0; }
    int completions() const noexcept { return state_->completions; }
    const error_code& ec() const noexcept { return state_->ec; }
    Value& value() noexcept { return state_->value; }
    void cancel(boost::asio::cancellation_type type = boost::asio::cancellation_type::terminal) {
        state_->signal.emit(type);
    }

private:
    struct state {
        boost::asio::cancellation_signal signal{};
        int completions = 0;
        error_code ec{};
        Value value{};
    };
    struct on_done {
        void operator()(error_code ec) { (*this)(ec, Value{}); }
        void operator()(error_code ec, Value value) {
            ++s->completions;
            s->ec = ec;
            s->value = std::move(value);
        }
        std::shared_ptr<state> s;
    };

    std::shared_ptr<state> state_;
};

struct nothing {};

using lock_attempt = attempt<hold>;
using plain_attempt = attempt<nothing>;

inline lock_attempt start_lock(const mutex& m, const lock_options& options = {}) {
    return lock_attempt{[&](auto token) { m.async_lock(options, std::move(token)); }};
}
inline plain_attempt start_unlock(hold& h) {
    return plain_attempt{[&](auto token) { h.async_unlock(std::move(token)); }};
}
inline plain_attempt start_extend(hold& h, duration lease) {
    return plain_attempt{[&](auto token) { h.async_extend(lease, std::move(token)); }};
}
inline plain_attempt start_wait_lost(const hold& h) {
    return plain_attempt{[&](auto token) { h.async_wait_lost(std::move(token)); }};
}
inline plain_attempt start_shutdown(client& c) {
    return plain_attempt{[&](auto token) { c.async_shutdown(std::move(token)); }};
}

}  // namespace conch::test

#endif
