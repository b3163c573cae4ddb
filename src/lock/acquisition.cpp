// SPDX-License-Identifier: BSL-1.0
#include "lock/acquisition.hpp"

#include "core/time.hpp"
#include "lock/context.hpp"

#include <algorithm>
#include <charconv>

namespace conch::lock {
namespace {

// The lease whose hold is good for `d`: `core::lease_end` the other way round.
duration lease_for(duration d) noexcept {
    constexpr duration longest = std::chrono::hours{24 * 366};
    return std::min(d, longest) * 40 / 39 + std::chrono::milliseconds{3};
}

}  // namespace

duration clamped_lease(duration lease, duration left) noexcept {
    return std::min(lease, lease_for(std::max(left, duration::zero())));
}

acquisition::acquisition(slot& s, impl::spec_ptr sp, std::uint64_t n, const terms& t,
                         const wire::call_type& first)
    : home{s},
      spec{std::move(sp)},
      number{n},
      want{t},
      call{first, *this},
      timer{this, nullptr},
      renew_timer{this, &renewer::on_due},
      extended_by{clamped_lease(t.lease, t.max_hold)} {}

void write_field(resp::writer& w, const acquisition& a) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, a.number).ptr;
    w.arg(a.home.house.field_prefix,
          {digits, static_cast<std::size_t>(end - digits)});
}

}  // namespace conch::lock
