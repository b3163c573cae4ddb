// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_REMARK_HPP
#define CONCH_IMPL_REMARK_HPP

#include <cstdint>

namespace conch::impl {

/// What the end of an operation says beside its error.
enum class remark : std::uint8_t {
    none,
    done,    ///< permits were granted, a count was set, a holder was released
    unasked  ///< of a refused try: no server was there to be asked
};

constexpr remark done_if(bool is_done) noexcept { return is_done ? remark::done : remark::none; }

}  // namespace conch::impl

#endif
