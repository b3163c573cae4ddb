// SPDX-License-Identifier: BSL-1.0
#include "resp/writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace conch::resp {

namespace {

constexpr std::size_t typical_arg = 32;

std::size_t digits_of(std::size_t number) noexcept {
    std::size_t digits = 1;
    for (; number >= 10; number /= 10) {
        ++digits;
    }
    return digits;
}

}  // namespace

writer& writer::command(std::size_t n) {
    // Spares a fresh buffer its first small steps. Never less than doubled, because reserve() may
    // give the exact amount: many commands in one buffer would be copied again and again.
    const std::size_t guess = typical_arg * std::min<std::size_t>(n, 64);
    if (out_.capacity() - out_.size() < guess) {
        out_.reserve(std::max(2 * out_.capacity(), out_.size() + guess));
    }
    append('*', n, 0);
    return *this;
}

writer& writer::arg(std::string_view bytes) { return arg(bytes, {}); }

writer& writer::arg(std::string_view first, std::string_view second, std::string_view third) {
    const std::size_t size = first.size() + second.size() + third.size();
    char* to = append('$', size, size + 2);
    to = std::copy(first.begin(), first.end(), to);
    if (!second.empty()) {
        to = std::copy(second.begin(), second.end(), to);
    }
    if (!third.empty()) {
        to = std::copy(third.begin(), third.end(), to);
    }
    *to++ = '\r';
    *to = '\n';
    return *this;
}

writer& writer::decimal(std::int64_t number) {
    std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return arg(std::string_view{text.data(), end});
}

writer& writer::decimal(std::uint64_t number) {
    std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return arg(std::string_view{text.data(), end});
}

/// Appends a header line, and room for `body` bytes behind it; returns where they go.
char* writer::append(char type, std::size_t number, std::size_t body) {
    const std::size_t digits = digits_of(number);
    const std::size_t begin = out_.size();
    out_.resize(begin + 1 + digits + 2 + body);
    char* to = out_.data() + begin;
    *to++ = type;
    to = std::to_chars(to, to + digits, number).ptr;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

}  // namespace conch::resp
