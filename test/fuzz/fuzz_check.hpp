// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_FUZZ_FUZZ_CHECK_HPP
#define CONCH_TEST_FUZZ_FUZZ_CHECK_HPP

#include <cstdio>
#include <cstdlib>

namespace conch::fuzz {

[[noreturn]] inline void failed(const char* what, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    std::abort();
}

}  // namespace conch::fuzz

/// What must hold for every input. Ends the process, as a fuzzer wants it.
#define FUZZ_CHECK(condition) \
    ((condition) ? void(0) : ::conch::fuzz::failed(#condition, __FILE__, __LINE__))

#endif
