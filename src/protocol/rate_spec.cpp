// SPDX-License-Identifier: BSL-1.0
#include "protocol/rate_spec.hpp"

#include "core/time.hpp"
#include "protocol/spec.hpp"

#include <chrono>
#include <stdexcept>

namespace conch::impl {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t highest_limit = 1'000'000'000;
constexpr duration longest_window = std::chrono::hours{24 * 365};

[[noreturn]] void refuse(const char* why) {
    throw std::invalid_argument{std::string{"conch::rate_limiter: "} + why};
}

wire::script_id script_of(rate_algorithm algorithm) {
    switch (algorithm) {
        case rate_algorithm::sliding_log: return wire::script_id::rate_log;
        case rate_algorithm::fixed_window: return wire::script_id::rate_window;
        case rate_algorithm::gcra: return wire::script_id::rate_gcra;
    }
    refuse("there is no such algorithm");
}

}  // namespace

rate_spec::rate_spec(std::string_view name, const rate& allowed, rate_algorithm algorithm)
    : name_{name},
      limit_{allowed.limit},
      burst_{allowed.burst == 0 ? allowed.limit : allowed.burst},
      window_ms_{core::ceil_millis(allowed.window)},
      script_{script_of(algorithm)} {
    if (name.empty()) {
        refuse("the name is empty");
    }
    if (name.size() > lock_spec::longest_name) {
        refuse("the name is longer than 64 KiB");
    }
    if (limit_ == 0 || limit_ > highest_limit) {
        refuse("the limit must be from 1 to 1,000,000,000 permits");
    }
    if (allowed.window < 1ms || allowed.window > longest_window) {
        refuse("the window must be from 1 ms to one year");
    }
    if (burst_ > limit_) {
        refuse("the burst must be from 1 to the limit");
    }
    if (allowed.burst != 0 && !paced()) {
        refuse("only rate_algorithm::gcra has a burst");
    }
}

void intrusive_ptr_add_ref(const rate_spec* s) noexcept {
    s->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(const rate_spec* s) noexcept {
    if (s->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete s;
    }
}

}  // namespace conch::impl
