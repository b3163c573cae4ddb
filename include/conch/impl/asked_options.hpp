// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_ASKED_OPTIONS_HPP
#define CONCH_IMPL_ASKED_OPTIONS_HPP

#include <conch/lock_status.hpp>
#include <conch/options.hpp>
#include <conch/owner.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace conch::impl {

/// `lock_options` in less room, or `status_options`, or an amount. Trivially destructible.
class asked_options {
public:
    asked_options() = default;
    explicit asked_options(duration amount) noexcept : wait_{amount} {}
    explicit asked_options(const status_options& o) noexcept : clients_{o.clients} {}
    explicit asked_options(const lock_options& o) noexcept
        : wait_{kept(o.wait)},
          lease_{kept(o.lease)},
          max_hold_{o.max_hold},
          progress_within_{o.progress_within},
          stop_before_{kept(o.stop_before)},
          owner_{o.owner ? o.owner->id() : 0},
          says_renew_{o.renew.has_value()},
          renew_{o.renew.value_or(false)} {}

    duration amount() const noexcept { return wait_; }
    status_options status() const noexcept { return {.clients = clients_}; }
    /// Without the owner, who may be gone by now.
    lock_options get() const noexcept {
        return {.wait = given(wait_),
                .lease = given(lease_),
                .renew = says_renew_ ? std::optional{renew_} : std::nullopt,
                .max_hold = max_hold_,
                .progress_within = progress_within_,
                .stop_before = given(stop_before_)};
    }
    /// 0: none.
    std::uint64_t owner() const noexcept { return owner_; }

private:
    static constexpr duration none = duration::min();

    // As bad a value stays a bad one.
    static duration kept(const std::optional<duration>& d) noexcept {
        return d ? std::max(*d, none + duration{1}) : none;
    }
    static std::optional<duration> given(duration d) noexcept {
        return d == none ? std::nullopt : std::optional{d};
    }

    duration wait_{};
    duration lease_{};
    duration max_hold_{};
    duration progress_within_{};
    duration stop_before_{};
    std::uint64_t owner_ = 0;
    bool says_renew_ = false;
    bool renew_ = false;
    bool clients_ = false;
};

}  // namespace conch::impl

#endif
