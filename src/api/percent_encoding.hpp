// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_PERCENT_ENCODING_HPP
#define CONCH_SRC_API_PERCENT_ENCODING_HPP

#include <string>
#include <string_view>

namespace conch::impl {

/// It stands for itself in each part of a URL (RFC 3986, section 2.3).
inline bool is_unreserved(char c) noexcept {
    constexpr std::string_view all =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    return all.find(c) != all.npos;
}

/// "%2F"
inline std::string percent_encoded(char c) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    return {'%', digits[byte >> 4], digits[byte & 15]};
}

}  // namespace conch::impl

#endif
