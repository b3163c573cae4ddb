// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_waits.hpp"

#include "cli/text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

namespace conch::cli {
namespace {

std::string_view take_word(std::string_view& text) noexcept {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

std::optional<std::int64_t> take_number(std::string_view& text) noexcept {
    const std::string_view word = take_word(text);
    std::int64_t n = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), n);
    const bool whole = wrong == std::errc{} && end == word.data() + word.size() && n >= 0;
    return whole ? std::optional{n} : std::nullopt;
}

}  // namespace

std::string key_of_waits(std::string_view name, std::string_view field) {
    constexpr std::string_view writer = ":write";
    if (field.ends_with(writer)) {
        field.remove_suffix(writer.size());
    }
    return derived_key("conch_wait", name).append(":").append(field);
}

// "1 EPOCH REFRESH CLIENT", and for each wait " KIND NUMBER BEGAN_MS SIZE NAME".
std::vector<holder_wait> waits_in(std::string_view value, std::int64_t now_us) {
    if (take_word(value) != "1" || !take_number(value) || !take_number(value)) {
        return {};
    }
    take_word(value);
    std::vector<holder_wait> out;
    while (!value.empty()) {
        take_word(value);
        const auto number = take_number(value);
        const auto began_ms = take_number(value);
        const auto size = take_number(value);
        if (!number || !began_ms || !size || static_cast<std::size_t>(*size) > value.size()) {
            return {};
        }
        const auto length = static_cast<std::size_t>(*size);
        const std::chrono::milliseconds so_long{
            std::max<std::int64_t>(now_us / 1000 - *began_ms, 0)};
        out.push_back({std::string{value.substr(0, length)}, so_long});
        value.remove_prefix(std::min(length + 1, value.size()));
    }
    return out;
}

std::string waits_text(const lock_entry& e) {
    const auto who = std::find_if(e.holders.begin(), e.holders.end(),
                                  [](const lock_holder& h) { return !h.waits.empty(); });
    if (who == e.holders.end()) {
        return "";
    }
    std::string text = printable(who->waits.front().name);
    if (who->waits.size() > 1) {
        text += " +" + std::to_string(who->waits.size() - 1);
    }
    return text;
}

}  // namespace conch::cli
