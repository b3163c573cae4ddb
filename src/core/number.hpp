// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_NUMBER_HPP
#define CONCH_SRC_CORE_NUMBER_HPP

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace conch::core {

/// The number that the whole text is, in decimal.
template <typename Number>
std::optional<Number> number_in(std::string_view text) noexcept {
    Number n{};
    const char* const end = text.data() + text.size();
    const auto [last, bad] = std::from_chars(text.data(), end, n);
    return bad == std::errc{} && last == end ? std::optional{n} : std::nullopt;
}

}  // namespace conch::core

#endif
