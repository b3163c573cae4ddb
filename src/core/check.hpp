// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_CHECK_HPP
#define CONCH_SRC_CORE_CHECK_HPP

#include <cstdio>
#include <cstdlib>

namespace conch::core {

[[noreturn]] inline void check_failed(const char* what, const char* file, int line) noexcept {
    std::fprintf(stderr, "conch: %s:%d: broken invariant: %s\n", file, line, what);
    std::abort();
}

}  // namespace conch::core

/// An invariant of the engine. Always on: a lock in doubt must stop rather than guess.
#define CONCH_CHECK(condition) \
    ((condition) ? void(0) : ::conch::core::check_failed(#condition, __FILE__, __LINE__))

#endif
