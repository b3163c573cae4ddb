// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_RESP_NUMBER_HPP
#define CONCH_SRC_RESP_NUMBER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace conch::resp {

inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Reads a size or count. False if `text` is empty, has anything but digits, or means 10^19 or
/// more.
inline bool read_digits(std::string_view text, std::uint64_t& out) noexcept {
    constexpr std::size_t always_fit = std::numeric_limits<std::uint64_t>::digits10;
    if (text.size() > always_fit) {
        text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
        if (text.size() > always_fit) {
            return false;
        }
    }
    out = 0;
    for (const char c : text) {
        if (!is_digit(c)) {
            return false;
        }
        out = out * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return !text.empty();
}

/// A sign may stand before any number, but not before a size.
inline std::string_view without_sign(std::string_view text) noexcept {
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
        text.remove_prefix(1);
    }
    return text;
}

/// Takes digits from the front of `text`; false if there are none.
inline bool skip_digits(std::string_view& text) noexcept {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto digits = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(digits);
    return digits > 0;
}

/// `[sign] digits`.
inline bool is_big_number(std::string_view text) noexcept {
    text = without_sign(text);
    return skip_digits(text) && text.empty();
}

/// `[sign] digits [. digits] [e [sign] digits]`, `inf` or `nan`.
inline bool is_number(std::string_view text) noexcept {
    text = without_sign(text);
    if (text == "inf" || text == "nan") {
        return true;
    }
    if (!skip_digits(text)) {
        return false;
    }
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        if (!skip_digits(text)) {
            return false;
        }
    }
    if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
        text = without_sign(text.substr(1));
        if (!skip_digits(text)) {
            return false;
        }
    }
    return text.empty();
}

}  // namespace conch::resp

#endif
