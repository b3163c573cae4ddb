// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_LANGUAGE_HPP
#define CONCH_IMPL_LANGUAGE_HPP

// What conch asks of the compiler. There are no headers of the two names below: each ends the
// compilation before hundreds of errors follow.
#if __cplusplus < 202002L
#error "conch needs C++20: compile with -std=c++20 or newer"
#include <conch/needs_cxx20>
#endif
#if !defined(__cpp_exceptions)
#error "conch needs exceptions: compile without -fno-exceptions"
#include <conch/needs_exceptions>
#endif

#endif
