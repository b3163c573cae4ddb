// SPDX-License-Identifier: BSL-1.0
#include "resp/writer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace conch::resp {
namespace {

constexpr std::size_t longest_number = std::numeric_limits<std::uint64_t>::digits10 + 2;
/// A type and a number, and the ends of two lines.
constexpr std::size_t around = 1 + longest_number + 4;

char* line_end(char* to) noexcept {
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

char* header(char* to, char type, std::size_t number) noexcept {
    *to++ = type;
    if (number < 100) {
        if (number >= 10) {
            *to++ = static_cast<char>('0' + number / 10);
        }
        *to++ = static_cast<char>('0' + number % 10);
    } else {
        to = std::to_chars(to, to + longest_number, number).ptr;
    }
    return line_end(to);
}

}  // namespace

writer& writer::command(std::size_t n) {
    end_ = header(room(around), '*', n);
    return *this;
}

writer& writer::arg(std::string_view bytes) {
    if (bytes.size() > gathered_.size() - around) {
        return arg(bytes, {});
    }
    char* const to = header(room(bytes.size() + around), '$', bytes.size());
    end_ = line_end(std::copy(bytes.begin(), bytes.end(), to));
    return *this;
}

writer& writer::words(std::span<const std::string> all) {
    command(all.size());
    for (const std::string& word : all) {
        arg(word);
    }
    return *this;
}

writer& writer::arg(std::string_view first, std::string_view second, std::string_view third) {
    const std::size_t size = first.size() + second.size() + third.size();
    if (size > gathered_.size() - around) {
        end_ = header(room(around), '$', size);
        flush();
        out_.append(first).append(second).append(third);
        end_ = line_end(end_);
        return *this;
    }
    char* to = header(room(size + around), '$', size);
    for (const std::string_view part : {first, second, third}) {
        to = std::copy(part.begin(), part.end(), to);
    }
    end_ = line_end(to);
    return *this;
}

template <typename Integer>
writer& writer::decimal(Integer number) {
    std::array<char, longest_number> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return arg(std::string_view{text.data(), end});
}

template writer& writer::decimal(std::int64_t);
template writer& writer::decimal(std::uint64_t);

/// Where `n` more bytes may go.
char* writer::room(std::size_t n) {
    if (static_cast<std::size_t>(gathered_.data() + gathered_.size() - end_) < n) {
        flush();
    }
    return end_;
}

void writer::flush() {
    out_.append(gathered_.data(), end_);
    end_ = gathered_.data();
}

}  // namespace conch::resp
