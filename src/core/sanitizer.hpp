// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_SANITIZER_HPP
#define CONCH_SRC_CORE_SANITIZER_HPP

// GCC and Clang say in different ways what they build with.
#if defined(__has_feature)
#define CONCH_HAS_FEATURE(feature) __has_feature(feature)
#else
#define CONCH_HAS_FEATURE(feature) 0
#endif

namespace conch::core {

/// Memory is not kept for reuse in such a build, so that a use after the end of an object is seen.
#if defined(__SANITIZE_ADDRESS__) || CONCH_HAS_FEATURE(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

/// Such a build takes many times as long for everything.
#if defined(__SANITIZE_THREAD__) || CONCH_HAS_FEATURE(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace conch::core

#undef CONCH_HAS_FEATURE

#endif
