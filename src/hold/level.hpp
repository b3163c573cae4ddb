// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_LEVEL_HPP
#define CONCH_SRC_HOLD_LEVEL_HPP

#include "core/hold_view.hpp"
#include "core/report_time.hpp"

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
    level(acquisition& a, time_point now, impl::view_kind k = impl::view_kind::plain) noexcept;
    static void* operator new(std::size_t size);
    static void operator delete(void* p, std::size_t size) noexcept;

    std::uint32_t renewals_before;  ///< of the acquisition, when this began
    acquisition* of;                ///< null once this ended
    time_point since;
};

/// One whose holder has to report progress.
struct reporting_level : level {
    /// `last_report`: the grant, or the last one of the outer levels.
    reporting_level(acquisition& a, time_point now, time_point last_report) noexcept
        : level{a, now, impl::view_kind::reporting}, reported{last_report} {}

    core::report_time reported;  ///< by the user
};

/// Each view that a client makes is the base of a level. In the engine only: null once it ended.
inline level* level_of(impl::hold_view& v) noexcept {
    auto& l = static_cast<level&>(v);
    return l.of ? &l : nullptr;
}

}  // namespace conch::lock

#endif
