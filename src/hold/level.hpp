// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_LEVEL_HPP
#define CONCH_SRC_HOLD_LEVEL_HPP

#include "core/hold_view.hpp"

#include <conch/clock.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>

namespace conch::lock {

struct acquisition;

/// One public hold of an acquisition: more than one where acquisitions of an owner nest. What is
/// here is the engine's; the base is shared with the user's threads, and the last of them to let go
/// of a hold that ended frees it.
struct level : boost::intrusive::list_base_hook<>, impl::hold_view {
    level(acquisition& a, time_point now, time_point last_report) noexcept;
    static void* operator new(std::size_t size);
    static void operator delete(void* p, std::size_t size) noexcept;

    std::uint32_t renewals_before;  ///< of the acquisition, when this began
    acquisition* of;                ///< null once this ended
    time_point since;
};

/// Each view that a client makes is the base of a level. In the engine only: null once it ended.
inline level* level_of(impl::hold_view& v) noexcept {
    auto& l = static_cast<level&>(v);
    return l.of ? &l : nullptr;
}

}  // namespace conch::lock

#endif
