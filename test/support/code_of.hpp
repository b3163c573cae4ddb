// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_CODE_OF_HPP
#define CONCH_TEST_SUPPORT_CODE_OF_HPP

#include <conch/error.hpp>

#include <exception>

namespace conch::test {

/// What an operation ended with.
inline error_code code_of(const std::exception_ptr& e) {
    try {
        if (e) {
            std::rethrow_exception(e);
        }
    } catch (const system_error& s) {
        return s.code();
    }
    return {};
}

}  // namespace conch::test

#endif
