// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_entry.hpp"

#include <algorithm>
#include <cstddef>

namespace conch::cli {
namespace {

constexpr std::string_view digits = "0123456789";

bool is_digits(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of(digits) == text.npos;
}

}  // namespace

std::string_view text_of(entry_kind kind) noexcept {
    switch (kind) {
        case entry_kind::mutex: return "mutex";
        case entry_kind::fair: return "fair";
        case entry_kind::reading: return "rw read";
        case entry_kind::writing: return "rw write";
        case entry_kind::semaphore: return "semaphore";
        case entry_kind::plain: return "plain";
        case entry_kind::counter: return "counter";
        case entry_kind::rate_limit: return "rate limit";
    }
    return "";
}

std::string permits_out(std::uint64_t out, std::optional<std::int64_t> in_all) {
    const bool is_of_one = in_all == 1;
    return std::to_string(out) + (in_all ? " of " + std::to_string(*in_all) : "") +
           (is_of_one || (!in_all && out == 1) ? " permit" : " permits") +
           (is_of_one || out == 1 ? " is out" : " are out");
}

std::string headline_of(entry_kind kind, std::uint64_t held_by,
                        std::optional<std::int64_t> permits) {
    const std::string so_many = std::to_string(held_by);
    switch (kind) {
        case entry_kind::mutex: return "mutex, locked";
        case entry_kind::fair: return "fair mutex, locked";
        case entry_kind::reading: return "read-write lock, read by " + so_many;
        case entry_kind::writing: return "read-write lock, written";
        case entry_kind::semaphore: return "semaphore, " + permits_out(held_by, permits);
        case entry_kind::plain: return "plain lock, locked";
        case entry_kind::counter:
            return "at " + std::to_string(permits.value_or(0)) +
                   ": a counting semaphore, a latch, or a semaphore of which no permit is out";
        case entry_kind::rate_limit: return "rate limit, in use";
    }
    return "";
}

bool is_lock_field(std::string_view text) noexcept {
    constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:";
    if (text.size() <= shape.size()) {
        return false;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const bool hex = digits.find(text[i]) != digits.npos ||
                         (text[i] >= 'a' && text[i] <= 'f') || (text[i] >= 'A' && text[i] <= 'F');
        if (shape[i] == 'x' ? !hex : text[i] != shape[i]) {
            return false;
        }
    }
    std::string_view number = text.substr(shape.size());
    constexpr std::string_view writer = ":write";
    if (number.ends_with(writer)) {
        number.remove_suffix(writer.size());
    }
    return number.size() <= 20 && is_digits(number);
}

bool is_token(std::string_view text) noexcept {
    return text.size() >= 16 && text.size() <= 64 && text.find_first_of(digits) != text.npos &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string semaphore_of(std::string_view key) {
    constexpr std::string_view end = ":timeout";
    if (!key.ends_with(end)) {
        return {};
    }
    key.remove_suffix(end.size());
    if (key.find('{') == key.npos) {
        return {};
    }
    std::string_view inner = key.size() > 2 ? key.substr(1, key.size() - 2) : std::string_view{};
    if (key.front() == '{' && key.back() == '}' && inner.find('{') == inner.npos) {
        return std::string{inner};
    }
    return std::string{key};
}

std::string key_of_permits_out(std::string_view name) {
    const bool has_brace = name.find('{') != name.npos;
    return std::string{has_brace ? "" : "{"}.append(name).append(has_brace ? ":timeout"
                                                                           : "}:timeout");
}

std::string derived_key(std::string_view prefix, std::string_view name) {
    const bool has_brace = name.find('{') != name.npos;
    return std::string{prefix}
        .append(has_brace ? ":" : ":{")
        .append(name)
        .append(has_brace ? "" : "}");
}

std::optional<entry_kind> kind_of_string(std::string_view value, bool ends) noexcept {
    if (is_digits(value)) {
        return ends ? entry_kind::rate_limit : entry_kind::counter;
    }
    if (value.find_first_not_of("0123456789:") == value.npos &&
        std::count(value.begin(), value.end(), ':') == 4) {
        return entry_kind::rate_limit;
    }
    return is_lock_field(value) || (ends && is_token(value)) ? std::optional{entry_kind::plain}
                                                             : std::nullopt;
}

std::optional<duration> age_of_fence(std::uint64_t fence, std::int64_t now_us) noexcept {
    constexpr std::uint64_t year_2017 = 1'500'000'000'000'000;
    const auto now = static_cast<std::uint64_t>(now_us);
    if (fence < year_2017 || fence > now) {
        return std::nullopt;
    }
    return std::chrono::microseconds{static_cast<std::int64_t>(now - fence)};
}

}  // namespace conch::cli
