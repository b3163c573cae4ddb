// SPDX-License-Identifier: BSL-1.0
#include "hold/level.hpp"

#include "core/recycling.hpp"
#include "hold/acquisition.hpp"

namespace conch::lock {

level::level(acquisition& a, time_point now, impl::view_kind k) noexcept
    : hold_view{a.fence, a.valid_until, k}, renewals_before{a.renewals}, of{&a}, since{now} {}

void* level::operator new(std::size_t size) { return core::allocate_recycled(size); }

void level::operator delete(void* p, std::size_t size) noexcept { core::free_recycled(p, size); }

}  // namespace conch::lock
