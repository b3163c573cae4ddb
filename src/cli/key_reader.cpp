// SPDX-License-Identifier: BSL-1.0
#include "cli/key_reader.hpp"

#include <conch/printable.hpp>

#include <cstddef>

namespace conch::cli {
namespace {

constexpr char escape_byte = '\x1b';
constexpr std::size_t longest_sequence = 32;

bool starts_sequence(char c) noexcept { return c == '[' || c == 'O'; }

key_kind kind_of_sequence(std::string_view parameters, char end) noexcept {
    switch (end) {
        case 'A': return key_kind::up;
        case 'B': return key_kind::down;
        case 'H': return key_kind::first;
        case 'F': return key_kind::last;
        case '~': break;
        default: return key_kind::unknown;
    }
    if (parameters == "1" || parameters == "7") {
        return key_kind::first;
    }
    if (parameters == "4" || parameters == "8") {
        return key_kind::last;
    }
    return parameters == "5"   ? key_kind::page_up
           : parameters == "6" ? key_kind::page_down
                               : key_kind::unknown;
}

std::size_t size_of_character(char first) noexcept {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf8 ? 4 : 1;
}

}  // namespace

std::vector<key> key_reader::read(std::string_view bytes) {
    std::vector<key> keys;
    if (escaped_ && !bytes.empty() && starts_sequence(bytes.front())) {
        rest_ = escape_byte;
    }
    escaped_ = false;
    rest_ += bytes;
    std::string_view left = rest_;
    while (!left.empty()) {
        const std::size_t taken = take(left, keys);
        if (taken == 0) {
            break;
        }
        left.remove_prefix(taken);
    }
    rest_ = std::string{left};
    return keys;
}

std::size_t key_reader::take(std::string_view bytes, std::vector<key>& keys) {
    const char c = bytes.front();
    if (c == escape_byte) {
        if (bytes.size() > 1 && starts_sequence(bytes[1])) {
            return take_sequence(bytes, keys);
        }
        escaped_ = bytes.size() == 1;
        keys.push_back({key_kind::escape, {}});
        return 1;
    }
    if (c == '\r' || c == '\n') {
        keys.push_back({key_kind::enter, {}});
        return 1;
    }
    if (c == '\x7f' || c == '\b') {
        keys.push_back({key_kind::erase, {}});
        return 1;
    }
    const std::size_t size = size_of_character(c);
    if (size > bytes.size()) {
        return 0;
    }
    const std::string text{bytes.substr(0, size)};
    const bool whole = printable(text) == text;
    keys.push_back(whole ? key{key_kind::character, text} : key{key_kind::unknown, {}});
    return whole ? size : 1;
}

std::size_t key_reader::take_sequence(std::string_view bytes, std::vector<key>& keys) {
    std::size_t end = 2;
    while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) {
        ++end;
    }
    if (end == bytes.size() && end < longest_sequence) {
        return 0;
    }
    const bool whole = end < bytes.size();
    keys.push_back(
        {whole ? kind_of_sequence(bytes.substr(2, end - 2), bytes[end]) : key_kind::unknown, {}});
    return whole ? end + 1 : end;
}

}  // namespace conch::cli
