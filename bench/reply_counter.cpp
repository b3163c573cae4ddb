// SPDX-License-Identifier: BSL-1.0
#include "reply_counter.hpp"

#include <stdexcept>
#include <string>

namespace conch::bench {

/// A string or a number: a reply, or the last one of an array, which is a reply.
void reply_counter::ended(std::size_t& count) noexcept {
    state_ = state::type;
    first_ = false;
    left_ -= left_ > 0 ? 1 : 0;
    count += left_ == 0 ? 1 : 0;
}

bool reply_counter::is_expected(char digit) const noexcept {
    if (left_ > 0) {
        return !first_ || digit == '1';
    }
    return state_ == state::length ? digit == '0' : digit >= least_ && digit <= most_;
}

std::size_t reply_counter::feed(std::string_view bytes) {
    std::size_t count = 0;
    for (const char c : bytes) {
        switch (state_) {
            case state::type:
                state_ = c == '$' ? state::length : c == '*' ? state::size : state::number;
                if (c != '$' && c != '*' && c != ':') {
                    throw std::runtime_error{"the server refused: " + std::string{bytes}};
                }
                break;
            case state::size:
                if (c == '\n') {
                    state_ = state::type;
                    first_ = true;
                } else if (c != '\r') {
                    left_ = 10 * left_ + static_cast<std::size_t>(c - '0');
                }
                break;
            case state::length:
            case state::number:
                if (c == '\n' && state_ == state::number) {
                    ended(count);
                } else if (c == '\n') {
                    state_ = state::empty_line;
                } else if (c != '\r' && !is_expected(c)) {
                    throw std::runtime_error{"what the raw limit asks for is taken elsewhere"};
                }
                break;
            case state::empty_line:
                if (c == '\n') {
                    ended(count);
                }
                break;
        }
    }
    return count;
}

}  // namespace conch::bench
