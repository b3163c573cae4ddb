// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_RATE_SPEC_HPP
#define CONCH_SRC_PROTOCOL_RATE_SPEC_HPP

#include "wire/script.hpp"

#include <conch/rate.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace conch::impl {

/// What a rate limit is on the server. Immutable and shared by rate limiters and requests.
class rate_spec {
public:
    /// Throws `std::invalid_argument` for a bad name, limit, window or burst.
    rate_spec(std::string_view name, const rate& allowed, rate_algorithm algorithm);

    const std::string& name() const noexcept { return name_; }
    std::uint64_t limit() const noexcept { return limit_; }
    /// So many may be granted at once.
    std::uint64_t burst() const noexcept { return burst_; }
    bool paced() const noexcept { return script_ == wire::script_id::rate_gcra; }
    std::int64_t window_ms() const noexcept { return window_ms_; }
    wire::script_id script() const noexcept { return script_; }
    /// Requests by one and by the other may go in one call.
    friend bool operator==(const rate_spec& a, const rate_spec& b) noexcept {
        return a.name_ == b.name_ && a.script_ == b.script_ && a.limit_ == b.limit_ &&
               a.burst_ == b.burst_ && a.window_ms_ == b.window_ms_;
    }

private:
    friend void intrusive_ptr_add_ref(const rate_spec*) noexcept;
    friend void intrusive_ptr_release(const rate_spec*) noexcept;

    std::string name_;
    std::uint64_t limit_;
    std::uint64_t burst_;
    std::int64_t window_ms_;
    wire::script_id script_;
    mutable std::atomic<std::uint32_t> references_{0};
};

void intrusive_ptr_add_ref(const rate_spec* s) noexcept;
void intrusive_ptr_release(const rate_spec* s) noexcept;

using rate_spec_ptr = boost::intrusive_ptr<const rate_spec>;

}  // namespace conch::impl

#endif
