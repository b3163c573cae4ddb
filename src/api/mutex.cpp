// SPDX-License-Identifier: BSL-1.0
#include <conch/mutex.hpp>

#include "lock/spec.hpp"

namespace conch {

mutex::mutex(const client& redis, std::string_view name, const mutex_options& options)
    : core_{redis.core_}, spec_{new impl::lock_spec{name, options}} {}

const std::string& mutex::name() const noexcept { return spec_->name(); }

}  // namespace conch
