// SPDX-License-Identifier: BSL-1.0
#include <conch/fair_mutex.hpp>
#include <conch/impl/mutex_source.hpp>
#include <conch/leader.hpp>
#include <conch/mutex.hpp>
#include <conch/printable.hpp>
#include <conch/shared_mutex.hpp>
#include <conch/token_mutex.hpp>

#include "driver/backend.hpp"
#include "protocol/lock_protocol.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace conch {
namespace {

impl::spec_ptr checked(const impl::core_ptr& core, impl::spec_ptr spec) {
    const auto need = [&](bool good, const char* why) {
        if (!good) {
            throw std::invalid_argument{std::string{spec->protocol().type_name} + ": " + why};
        }
    };
    if (!core) {
        return spec;
    }
    const config& settings = core->settings();
    if (settings.cluster) {
        need(spec->in_one_hash_slot(),
             "the name's hash tag is empty or incomplete (as in {}x, a{b or a}b), so that a "
             "cluster can't keep what belongs to it in one place");
    }
    // A server that waits for its replicas shall not be held for dead.
    need(std::chrono::milliseconds{spec->replicas().within_ms} <= settings.response_timeout / 2,
         "replicas.within is longer than half of config::response_timeout");
    return spec;
}

}  // namespace

mutex::mutex(const client& redis, std::string_view name, const mutex_options& options)
    : mutex{redis, impl::lock_spec::make(protocol::mutex_protocol, name, options)} {}

mutex::mutex(const client& redis, impl::spec_ptr spec)
    : mutex{redis.core_, checked(redis.core_, std::move(spec))} {}

mutex::mutex(impl::core_ptr core, impl::spec_ptr spec) noexcept
    : core_{std::move(core)}, spec_{std::move(spec)} {}

token_mutex::token_mutex(const client& redis, std::string_view name, const mutex_options& options)
    : mutex{redis, impl::lock_spec::make(protocol::value_lock_protocol, name, options)} {}

fair_mutex::fair_mutex(const client& redis, std::string_view name, const mutex_options& options)
    : mutex{redis, impl::lock_spec::make(protocol::fair_protocol, name, options)} {}

leader::leader(const client& redis, std::string_view name, const mutex_options& options)
    : lock_{redis, impl::lock_spec::make(protocol::leader_protocol, name, [&] {
                mutex_options fenced = options;
                fenced.fenced = true;
                return fenced;
            }())} {}

shared_mutex::shared_mutex(const client& redis, std::string_view name)
    : writer_{redis, impl::lock_spec::make(protocol::shared_write_protocol, name, {})},
      reader_{redis, impl::lock_spec::make(protocol::shared_read_protocol, name, {})} {}

impl::mutex_source::mutex_source(const client& redis) noexcept : core_{redis.core_} {}

mutex impl::mutex_source::named(std::string_view name) const {
    return {core_, checked(core_, lock_spec::make(protocol::mutex_protocol, name, {}))};
}

std::string_view mutex::name() const noexcept { return spec_->name(); }

std::string mutex::label() const {
    const std::string servers = core_ ? core_->servers() : "no server";
    return "lock \"" + printable(name()) + "\" at " + servers;
}

}  // namespace conch
