// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_ACQUISITION_POOL_HPP
#define CONCH_SRC_HOLD_ACQUISITION_POOL_HPP

#include "core/check.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/attempt.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace conch::lock {

/// Makes the acquisitions of one client, with the calls that begin and end them.
class acquisition_pool {
public:
    /// One whose acquire, of this type, is to be submitted.
    acquisition& make(lock_name& n, const impl::spec_ptr& spec, const hold_terms& terms,
                      duration max_hold, const wire::call_type& type) {
        acquisition& a = acquisitions_.make(n, spec, next_number_++, terms);
        begin_attempt(a, max_hold, type);
        return a;
    }
    void begin_attempt(acquisition& a, duration max_hold, const wire::call_type& type) {
        CONCH_CHECK(!a.acquiring);
        a.acquiring = &attempts_.make(type, a);
        a.acquiring->max_hold = max_hold;
        a.acquiring->lease = clamped_lease(a.terms.lease, max_hold);
    }
    release& release_of(acquisition& a) {
        if (!a.releasing) {
            a.releasing = &releases_.make(a);
        }
        return *a.releasing;
    }
    /// The acquire is not on its way any more: only its lost copies matter from now on.
    void end_attempt(acquisition& a) {
        if (const std::optional<lost_copies> lost = a.acquiring->lost()) {
            std::optional<lost_copies>& all = release_of(a).acquires;
            all = all ? all->and_also(*lost) : *lost;
        }
        attempts_.free(*std::exchange(a.acquiring, nullptr));
    }
    void free(acquisition& a) noexcept {
        CONCH_CHECK(!a.timer.armed());
        if (a.acquiring) {
            attempts_.free(*a.acquiring);
        }
        if (a.releasing) {
            releases_.free(*a.releasing);
        }
        acquisitions_.free(a);
    }

    /// Those that the servers have, or may still get.
    std::size_t live() const noexcept { return acquisitions_.live(); }

private:
    core::pool<acquisition> acquisitions_{};
    core::pool<attempt> attempts_{};
    core::pool<release> releases_{};
    std::uint64_t next_number_ = 1;
};

}  // namespace conch::lock

#endif
