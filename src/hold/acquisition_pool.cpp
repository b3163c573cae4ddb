// SPDX-License-Identifier: BSL-1.0
#include "hold/acquisition_pool.hpp"

#include <utility>

namespace conch::lock {

acquisition& acquisition_pool::make(lock_name& n, const impl::spec_ptr& spec,
                                    const hold_terms& terms, duration max_hold,
                                    const wire::call_type& type) {
    acquisition& a = acquisitions_.make(n, spec, next_number_++, terms, max_hold);
    a.acquiring = &attempts_.make(type, a);
    a.acquiring->max_hold = max_hold;
    return a;
}

release& acquisition_pool::release_of(acquisition& a) {
    if (!a.releasing) {
        a.releasing = &releases_.make(a);
    }
    return *a.releasing;
}

void acquisition_pool::end_attempt(acquisition& a) {
    const std::optional<lost_copies> lost = a.acquiring->lost();
    attempts_.free(*std::exchange(a.acquiring, nullptr));
    if (lost) {
        release_of(a).acquires = lost;
    }
}

void acquisition_pool::free(acquisition& a) noexcept {
    if (a.acquiring) {
        attempts_.free(*a.acquiring);
    }
    if (a.releasing) {
        releases_.free(*a.releasing);
    }
    acquisitions_.free(a);
}

}  // namespace conch::lock
