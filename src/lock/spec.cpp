// SPDX-License-Identifier: BSL-1.0
#include "lock/spec.hpp"

#include "core/time.hpp"

#include <stdexcept>

namespace conch::impl {
namespace {

// Redisson's rule for a derived key: the name becomes the hash tag, unless it has a brace already.
std::string prefixed(std::string_view prefix, std::string_view name) {
    std::string out{prefix};
    if (name.find('{') != std::string_view::npos) {
        return out.append(":").append(name);
    }
    return out.append(":{").append(name).append("}");
}

}  // namespace

lock_spec::lock_spec(std::string_view name, const mutex_options& options) {
    if (name.empty()) {
        throw std::invalid_argument{"conch::mutex: the name is empty"};
    }
    if (name.size() > longest_name) {
        throw std::invalid_argument{"conch::mutex: the name is longer than 64 KiB"};
    }
    if (options.fence_ttl && *options.fence_ttl <= duration::zero()) {
        throw std::invalid_argument{"conch::mutex: fence_ttl must be positive"};
    }
    name_ = name;
    channel_ = prefixed("redisson_lock__channel", name);
    if (options.fenced) {
        token_key_ = prefixed("redisson_lock_token", name);
        token_ttl_ms_ = options.fence_ttl ? core::ceil_millis(*options.fence_ttl) : 0;
    }
}

void intrusive_ptr_add_ref(const lock_spec* s) noexcept {
    s->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(const lock_spec* s) noexcept {
    if (s->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete s;
    }
}

}  // namespace conch::impl
