// SPDX-License-Identifier: BSL-1.0
#include <conch/semaphore.hpp>

#include "driver/backend.hpp"
#include "protocol/count_spec.hpp"
#include "protocol/lock_protocol.hpp"

#include <stdexcept>

namespace conch {
namespace {

bool can_take(std::int64_t permits) noexcept {
    return permits >= 1 && permits <= impl::lock_spec::most_permits;
}

}  // namespace

// The name is checked with its counter.
semaphore::semaphore(const client& redis, std::string_view name)
    : core_{redis.core_},
      count_{new impl::count_spec{impl::count_spec::kind::permits, name,
                                  core_ && core_->settings().cluster}},
      one_{impl::lock_spec::make(protocol::permits_protocol, name, {})} {}

impl::spec_ptr semaphore::taking(std::int64_t permits) const {
    if (permits == 1) {
        return one_;
    }
    return impl::lock_spec::make(protocol::permits_protocol, name(), {},
                                 can_take(permits) ? static_cast<std::uint32_t>(permits) : 0);
}

mutex semaphore::permits(std::int64_t permits) const {
    if (!can_take(permits)) {
        throw std::invalid_argument{"conch::semaphore: permits must be from 1 to 1,000"};
    }
    return {core_, taking(permits)};
}

std::string_view semaphore::name() const noexcept { return count_->name(); }

}  // namespace conch
