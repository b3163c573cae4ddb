// SPDX-License-Identifier: BSL-1.0
#include "protocol/spec.hpp"

#include "core/recycling.hpp"
#include "core/time.hpp"
#include "protocol/lock_protocol.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>

namespace conch::impl {
namespace {

std::uint64_t millis(duration d) noexcept {
    return static_cast<std::uint64_t>(core::ceil_millis(d));
}

/// The script takes 0 for a fence key that never expires.
bool expires(const mutex_options& o) noexcept { return o.fenced && o.fence_ttl != forever; }

}  // namespace

spec_ptr lock_spec::make(const protocol::lock_protocol& p, std::string_view name,
                         const mutex_options& options, std::uint32_t permits) {
    const auto refuse = [&](const char* why) {
        throw std::invalid_argument{std::string{p.type_name} + ": " + why};
    };
    if (name.empty()) {
        refuse("the name is empty");
    }
    if (name.size() > longest_name) {
        refuse("the name is longer than 64 KiB");
    }
    if (options.fence_ttl <= duration::zero()) {
        refuse("fence_ttl must be positive");
    }
    if (options.replicas.at_least > most_replicas) {
        refuse("replicas.at_least is above 1,000");
    }
    if (options.replicas.within < std::chrono::milliseconds{1} ||
        options.replicas.within > std::chrono::minutes{1}) {
        refuse("replicas.within must be from 1 ms to one minute");
    }
    void* const memory = core::allocate_recycled(sizeof(lock_spec) + name.size());
    return spec_ptr{::new (memory) lock_spec{p, name, options, permits}};
}

lock_spec::lock_spec(const protocol::lock_protocol& p, std::string_view name,
                     const mutex_options& options, std::uint32_t permits) noexcept
    : protocol_{p},
      fence_key_ttl_ms_{millis(expires(options) ? options.fence_ttl : duration{}) &
                        ((std::uint64_t{1} << 48) - 1)},
      within_ms_or_permits_{(options.replicas.at_least > 0 ? millis(options.replicas.within)
                                                           : std::uint64_t{permits}) &
                            ((1u << 16) - 1)},
      name_size_{static_cast<std::uint32_t>(name.size()) & ((1u << 17) - 1)},
      fenced_{options.fenced},
      has_brace_{name.find('{') != std::string_view::npos},
      at_least_{options.replicas.at_least & ((1u << 10) - 1)},
      name_hash_{static_cast<std::uint32_t>(std::hash<std::string_view>{}(name))} {
    name.copy(reinterpret_cast<char*>(this + 1), name.size());
}

// Redisson's rule for a derived key: the name becomes the hash tag, unless it has a brace already.
derived_name lock_spec::derived(std::string_view prefix) const noexcept {
    if (has_brace_) {
        return {prefix.substr(0, prefix.size() - 1), name(), {}};
    }
    return {prefix, name(), "}"};
}

derived_name lock_spec::channel() const noexcept { return derived(protocol_.channel_prefix); }

derived_name lock_spec::fence_key() const noexcept {
    return fenced() ? derived(protocol_.fence_key_prefix) : derived_name{};
}

bool lock_spec::in_one_hash_slot() const {
    const auto here = [&](std::string_view prefix) {
        return wire::hash_slot_of(derived(prefix).text()) == hash_slot();
    };
    return here(protocol_.channel_prefix) && here(protocol_.fence_key_prefix);
}

void intrusive_ptr_add_ref(const lock_spec* s) noexcept {
    s->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(const lock_spec* s) noexcept {
    if (s->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::size_t size = sizeof(lock_spec) + s->name().size();
        std::destroy_at(s);
        core::free_recycled(const_cast<lock_spec*>(s), size);
    }
}

}  // namespace conch::impl
