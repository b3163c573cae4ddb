// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_HOLD_VIEW_HPP
#define CONCH_SRC_CORE_HOLD_VIEW_HPP

#include <conch/clock.hpp>
#include <conch/error.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstdint>

namespace conch::impl {

/// What the owner of a public hold has asked for without waiting; `drop` is its destructor's.
enum class hold_request : std::uint8_t { none, release, drop, detach };

/// What derives from it.
enum class view_kind : std::uint8_t {
    plain,      ///< a `lock::level`
    reporting,  ///< a `lock::reporting_level`
    composite,  ///< a `composite_view`, made of holds of several clients
};

/// The part of a hold that the user's threads see. Written by the engine, but for `asked`; shared
/// by the engine and the public handle.
struct hold_view {
    hold_view(std::uint64_t fencing_token, time_point until, view_kind k) noexcept
        : fence{fencing_token}, valid_until{until.time_since_epoch().count()}, kind{k} {}
    hold_view(const hold_view&) = delete;
    hold_view& operator=(const hold_view&) = delete;

    const std::uint64_t fence;
    /// By the engine: the hold's deadline; moves on with each renewal.
    std::atomic<duration::rep> valid_until;
    /// In the client's inbox.
    hold_view* next = nullptr;
    std::atomic<std::uint32_t> references{0};
    /// By the engine: why the hold was lost (errc), 0 while it isn't.
    std::atomic<int> lost{0};
    /// By the user: what to do when the loop next turns.
    std::atomic<hold_request> asked{hold_request::none};
    const view_kind kind;

protected:
    ~hold_view() = default;
};

void intrusive_ptr_add_ref(hold_view* v) noexcept;
void intrusive_ptr_release(hold_view* v) noexcept;

using view_ptr = boost::intrusive_ptr<hold_view>;

}  // namespace conch::impl

#endif
