// SPDX-License-Identifier: BSL-1.0
#include "name_waiters.hpp"

#include <stdexcept>
#include <utility>

namespace conch::bench {

name_waiters::name_waiters(event_loop& loop, const config& server, std::string prefix,
                           std::size_t count)
    : loop_{loop}, client_{loop.context(), server}, prefix_{std::move(prefix)}, holds_(count) {}

void name_waiters::ask_for_all() {
    granted_ = 0;
    for (std::size_t i = 0; i < holds_.size(); ++i) {
        const std::string name = prefix_ + std::to_string(i);
        const mutex m{client_, name};
        m.async_lock([this, i](error_code ec, hold h) {
            if (ec) {
                throw std::runtime_error{ec.message()};
            }
            holds_[i] = std::move(h);
            if (++granted_ == holds_.size()) {
                loop_.stop();
            }
        });
    }
}

void name_waiters::park_all() {
    const std::uint64_t before = client_.stats().busy;
    ask_for_all();
    loop_.run_until([&] { return client_.stats().busy - before >= 2 * holds_.size(); });
}

void name_waiters::await_grants() { loop_.run(); }

void name_waiters::release_all() {
    std::size_t released = 0;
    for (hold& h : holds_) {
        h.async_unlock([&](error_code ec) {
            if (ec) {
                throw std::runtime_error{ec.message()};
            }
            if (++released == holds_.size()) {
                loop_.stop();
            }
        });
    }
    loop_.run();
}

}  // namespace conch::bench
