// SPDX-License-Identifier: BSL-1.0
#include <conch/impl/mutex_source.hpp>
#include <conch/mutex.hpp>
#include <conch/token_mutex.hpp>

#include "driver/backend.hpp"
#include "lock/spec.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace conch {

mutex::mutex(const client& redis, std::string_view name, const mutex_options& options)
    : mutex{redis, impl::lock_spec::make(impl::redisson_family, name, options)} {}

mutex::mutex(const client& redis, impl::spec_ptr spec) : mutex{redis.core_, std::move(spec)} {
    if (!spec_->replicas()) {
        return;
    }
    // A server that waits for its replicas shall not be held for dead.
    if (std::chrono::milliseconds{spec_->replicas().within_ms} >
        core_->settings().response_timeout / 2) {
        throw std::invalid_argument{
            std::string{spec_->family().type_name} +
            ": replicas.within is longer than half of config::response_timeout"};
    }
}

mutex::mutex(impl::core_ptr core, impl::spec_ptr spec) noexcept
    : core_{std::move(core)}, spec_{std::move(spec)} {}

token_mutex::token_mutex(const client& redis, std::string_view name, const mutex_options& options)
    : mutex{redis, impl::lock_spec::make(impl::token_family, name, options)} {}

impl::mutex_source::mutex_source(const client& redis) noexcept : core_{redis.core_} {}

mutex impl::mutex_source::named(std::string_view name) const {
    return {core_, lock_spec::make(redisson_family, name, {})};
}

std::string_view mutex::name() const noexcept { return spec_->name(); }

}  // namespace conch
