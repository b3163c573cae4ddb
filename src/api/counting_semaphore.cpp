// SPDX-License-Identifier: BSL-1.0
#include <conch/counting_semaphore.hpp>
#include <conch/latch.hpp>

#include "driver/backend.hpp"
#include "protocol/count_spec.hpp"

namespace conch {
namespace {

impl::count_spec_ptr make_spec(impl::count_spec::kind what, std::string_view name,
                               const impl::core_ptr& core) {
    return new impl::count_spec{what, name, core && core->settings().cluster};
}

}  // namespace

counting_semaphore::counting_semaphore(const client& redis, std::string_view name)
    : core_{redis.core_}, spec_{make_spec(impl::count_spec::kind::semaphore, name, core_)} {}

std::string_view counting_semaphore::name() const noexcept { return spec_->name(); }

latch::latch(const client& redis, std::string_view name)
    : core_{redis.core_}, spec_{make_spec(impl::count_spec::kind::latch, name, core_)} {}

std::string_view latch::name() const noexcept { return spec_->name(); }

}  // namespace conch
