// SPDX-License-Identifier: BSL-1.0
#include "reply_counter.hpp"

#include <stdexcept>
#include <string>

namespace conch::bench {

std::size_t reply_counter::feed(std::string_view bytes) {
    std::size_t count = 0;
    for (const char c : bytes) {
        switch (state_) {
            case state::type:
                state_ = c == '$' ? state::length : state::number;
                if (c != '$' && c != ':') {
                    throw std::runtime_error{"the server refused: " + std::string{bytes}};
                }
                break;
            case state::length:
            case state::number:
                if (c == '\n') {
                    count += state_ == state::number ? 1 : 0;
                    state_ = state_ == state::number ? state::type : state::empty_line;
                } else if (c != '\r' && (c < '0' || c > (state_ == state::number ? most_ : '0'))) {
                    throw std::runtime_error{"a lock of the raw limit is held elsewhere"};
                }
                break;
            case state::empty_line:
                if (c == '\n') {
                    ++count;
                    state_ = state::type;
                }
                break;
        }
    }
    return count;
}

}  // namespace conch::bench
