// SPDX-License-Identifier: BSL-1.0
#include "support/resp_frames.hpp"

#include <charconv>
#include <stdexcept>
#include <string>

namespace conch::test {
namespace {

/// How many values follow a head such as "*3"; a map has two for each entry.
std::size_t children(char type, std::size_t count) {
    switch (type) {
        case '*':
        case '~':
        case '>': return count;
        case '%': return 2 * count;
        case '|': return 2 * count + 1;  // and the value that the attributes belong to
        default: return 0;
    }
}

bool has_text(char type) { return type == '$' || type == '=' || type == '!'; }

std::size_t number_in(std::string_view head) {
    long long n = 0;
    const char* const end = head.data() + head.size();
    if (std::from_chars(head.data() + 1, end, n).ptr != end) {
        throw std::runtime_error{"resp_frames: no number in \"" + std::string{head} + '"'};
    }
    return n < 0 ? 0 : static_cast<std::size_t>(n);
}

}  // namespace

std::size_t frame_length(std::string_view bytes) {
    std::size_t at = 0;
    for (std::size_t missing = 1; missing > 0; --missing) {
        const auto end = bytes.find("\r\n", at);
        if (end == std::string_view::npos) {
            return 0;
        }
        const std::string_view head = bytes.substr(at, end - at);
        const char type = head.empty() ? '\0' : head.front();
        at = end + 2;
        if (has_text(type) && head.substr(1) != "-1") {
            at += number_in(head) + 2;
        } else if (children(type, 1) != 0) {
            missing += children(type, number_in(head));
        }
        if (at > bytes.size()) {
            return 0;
        }
    }
    return at;
}

}  // namespace conch::test
