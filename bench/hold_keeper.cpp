// SPDX-License-Identifier: BSL-1.0
#include "hold_keeper.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace conch::bench {
namespace {

/// Operations under way at a time: a small share of the holds, as what they need meanwhile, which
/// the client keeps for the next, is no memory of holds.
std::size_t window(std::size_t holds) { return std::clamp<std::size_t>(holds / 64, 1, 128); }

void check(error_code ec) {
    if (ec) {
        throw std::runtime_error{ec.message()};
    }
}

}  // namespace

hold_keeper::hold_keeper(event_loop& loop, const config& server, std::string prefix,
                         std::size_t count, duration lease)
    : loop_{loop},
      client_{loop.context(), server},
      prefix_{std::move(prefix)},
      lease_{lease},
      holds_(count) {}

void hold_keeper::warm_up() {
    mutex{client_, prefix_ + "warm-up"}.async_lock([this](error_code ec, hold h) {
        check(ec);
        holds_[0] = std::move(h);
        holds_[0].async_unlock([this](error_code failure) {
            check(failure);
            loop_.stop();
        });
    });
    loop_.run();
}

void hold_keeper::take_all() {
    next_ = done_ = 0;
    for (std::size_t i = 0; i < window(holds_.size()); ++i) {
        take_next();
    }
    loop_.run();
}

void hold_keeper::take_next() {
    const std::size_t i = next_++;
    const lock_options options{.lease = lease_};
    mutex{client_, prefix_ + std::to_string(i)}.async_lock(options,
                                                           [this, i](error_code ec, hold h) {
                                                               check(ec);
                                                               holds_[i] = std::move(h);
                                                               one_done();
                                                               if (next_ < holds_.size()) {
                                                                   take_next();
                                                               }
                                                           });
}

void hold_keeper::one_done() {
    if (++done_ == holds_.size()) {
        loop_.stop();
    }
}

void hold_keeper::release_all() {
    next_ = done_ = 0;
    for (std::size_t i = 0; i < window(holds_.size()); ++i) {
        release_next();
    }
    loop_.run();
}

void hold_keeper::release_next() {
    // Of a hold that was lost, an error, which was counted before.
    holds_[next_++].async_unlock([this](error_code) {
        one_done();
        if (next_ < holds_.size()) {
            release_next();
        }
    });
}

}  // namespace conch::bench
