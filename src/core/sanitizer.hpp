// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_SANITIZER_HPP
#define CONCH_SRC_CORE_SANITIZER_HPP

namespace conch::core {

/// This is an AddressSanitizer build: memory is not kept for reuse there, so that a use after the
/// end of an object is seen. (GCC and Clang say it in different ways.)
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

}  // namespace conch::core

#endif
