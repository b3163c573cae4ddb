// SPDX-License-Identifier: BSL-1.0
#include <conch/counting_semaphore.hpp>

#include "driver/backend.hpp"
#include "protocol/count_spec.hpp"

namespace conch {

counting_semaphore::counting_semaphore(const client& redis, std::string_view name)
    : core_{redis.core_},
      spec_{new impl::count_spec{impl::count_spec::kind::semaphore, name,
                                 core_ && core_->settings().cluster}} {}

std::string_view counting_semaphore::name() const noexcept { return spec_->name(); }

}  // namespace conch
