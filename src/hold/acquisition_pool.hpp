// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_ACQUISITION_POOL_HPP
#define CONCH_SRC_HOLD_ACQUISITION_POOL_HPP

#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "hold/release.hpp"

#include <cstddef>
#include <cstdint>

namespace conch::lock {

/// Makes the acquisitions of one client, with the calls that begin and end them.
class acquisition_pool {
public:
    /// One whose acquire, of this type, is to be submitted.
    acquisition& make(lock_name& n, const impl::spec_ptr& spec, const hold_terms& terms,
                      duration max_hold, const wire::call_type& type);
    release& release_of(acquisition& a);
    /// The acquire is not on its way any more: only its lost copies matter from now on.
    void end_attempt(acquisition& a);
    void free(acquisition& a) noexcept;

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
