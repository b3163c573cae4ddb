// SPDX-License-Identifier: BSL-1.0
#include <conch/printable.hpp>

#include <cstddef>
#include <cstdio>

namespace conch {
namespace {

/// The length of the well-formed UTF-8 sequence that `s` begins with (Unicode, table 3-7); 0 if
/// there is none.
std::size_t sequence_length(std::string_view s) noexcept {
    const auto at = [&s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned lead = at(0);
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t n = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (n == 0 || s.size() < n) {
        return 0;
    }
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at(1) < low || at(1) > high) {
        return 0;
    }
    for (std::size_t i = 2; i < n; ++i) {
        if ((at(i) & 0xc0U) != 0x80) {
            return 0;
        }
    }
    return n;
}

/// The character of a well-formed sequence.
char32_t character(std::string_view sequence) noexcept {
    const auto lead = static_cast<unsigned char>(sequence[0]);
    char32_t c = sequence.size() == 1 ? lead : lead & (0x7fU >> sequence.size());
    for (const char next : sequence.substr(1)) {
        c = c << 6 | (static_cast<unsigned char>(next) & 0x3fU);
    }
    return c;
}

bool is_obeyed(char32_t c) noexcept {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/// `f(out, c, sequence)` appends each character.
template <typename F>
std::string each_character(std::string_view bytes, F&& f) {
    std::string out;
    while (!bytes.empty()) {
        const std::size_t n = sequence_length(bytes);
        if (n == 0) {
            out += "\xef\xbf\xbd";
        } else {
            f(out, character(bytes.substr(0, n)), bytes.substr(0, n));
        }
        bytes.remove_prefix(n == 0 ? 1 : n);
    }
    return out;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
    return each_character(
        bytes, [](std::string& out, char32_t, std::string_view sequence) { out += sequence; });
}

std::string printable(std::string_view bytes) {
    return each_character(bytes, [](std::string& out, char32_t c, std::string_view sequence) {
        out += is_obeyed(c) ? std::string_view{"?"} : sequence;
    });
}

std::string printable_json(std::string_view json) {
    return each_character(json, [](std::string& out, char32_t c, std::string_view sequence) {
        if (is_obeyed(c)) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
            out += escaped;
        } else {
            out += sequence;
        }
    });
}

}  // namespace conch
