// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_THROWN_HPP
#define CONCH_TEST_SUPPORT_THROWN_HPP

#include <conch/error.hpp>

namespace conch::test {

/// The code that `call` throws, or none.
template <typename Call>
error_code thrown(Call call) {
    try {
        call();
    } catch (const system_error& e) {
        return e.code();
    }
    return {};
}

}  // namespace conch::test

#endif
