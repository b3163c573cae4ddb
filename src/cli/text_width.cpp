// SPDX-License-Identifier: BSL-1.0
#include "cli/text_width.hpp"

#include <algorithm>

namespace conch::cli {
namespace {

struct range {
    char32_t first;
    char32_t last;
};

constexpr range no_columns[]{{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
                             {0x064b, 0x065f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                             {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                             {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
constexpr range two_columns[]{{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},
                              {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
                              {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                              {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                              {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

constexpr bool is_continuation(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

template <std::size_t N>
bool is_within(char32_t c, const range (&all)[N]) noexcept {
    return std::any_of(all, all + N, [c](range r) { return c >= r.first && c <= r.last; });
}

std::size_t end_of_character(std::string_view text, std::size_t at) noexcept {
    do {
        ++at;
    } while (at < text.size() && is_continuation(text[at]));
    return at;
}

std::size_t width_of_character(std::string_view bytes) noexcept {
    const auto first = static_cast<unsigned char>(bytes.front());
    char32_t c = bytes.size() == 1   ? first
                 : bytes.size() == 2 ? first & 0x1fU
                 : bytes.size() == 3 ? first & 0x0fU
                                     : first & 0x07U;
    for (const char next : bytes.substr(1)) {
        c = c << 6 | (static_cast<unsigned char>(next) & 0x3fU);
    }
    return is_within(c, no_columns) ? 0 : is_within(c, two_columns) ? 2 : 1;
}

/// Where the characters end that fit into so many columns.
std::size_t end_within(std::string_view text, std::size_t width) noexcept {
    std::size_t end = 0;
    for (std::size_t taken = 0; end < text.size();) {
        const std::size_t next = end_of_character(text, end);
        taken += width_of_character(text.substr(end, next - end));
        if (taken > width) {
            break;
        }
        end = next;
    }
    return end;
}

}  // namespace

std::size_t width_of(std::string_view text) noexcept {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = end_of_character(text, at);
        sum += width_of_character(text.substr(at, next - at));
        at = next;
    }
    return sum;
}

std::string cut(std::string_view text, std::size_t width) {
    if (width == 0 || end_within(text, width) == text.size()) {
        return std::string{width == 0 ? "" : text};
    }
    return std::string{text.substr(0, end_within(text, width - 1))} + '~';
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
    std::vector<std::string> lines;
    std::string before;
    indent = indent + 8 < width ? indent : 0;
    while (width_of(text) + before.size() > width) {
        const std::size_t room = std::max<std::size_t>(width - before.size(), 2);
        std::size_t end = end_within(text, room);
        const std::size_t words = text.find_first_not_of(' ');
        const std::size_t blank = text.rfind(' ', end);
        const bool at_blank = blank != text.npos && blank > words && blank > end / 2;
        end = at_blank ? blank : std::max(end, end_of_character(text, 0));
        lines.push_back(before + std::string{text.substr(0, end)});
        text.remove_prefix(at_blank ? end + 1 : end);
        before.assign(indent, ' ');
    }
    lines.push_back(before + std::string{text});
    return lines;
}

void erase_last(std::string& text) {
    while (!text.empty()) {
        const bool last = !is_continuation(text.back());
        text.pop_back();
        if (last) {
            break;
        }
    }
}

}  // namespace conch::cli
