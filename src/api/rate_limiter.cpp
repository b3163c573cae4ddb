// SPDX-License-Identifier: BSL-1.0
#include <conch/rate_limiter.hpp>

#include "lock/rate_spec.hpp"

namespace conch {

rate_limiter::rate_limiter(const client& redis, std::string_view name, const rate& allowed,
                           rate_algorithm algorithm)
    : core_{redis.core_}, spec_{new impl::rate_spec{name, allowed, algorithm}} {}

const std::string& rate_limiter::name() const noexcept { return spec_->name(); }

}  // namespace conch
