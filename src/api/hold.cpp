// SPDX-License-Identifier: BSL-1.0
#include <conch/hold.hpp>

#include "core/hold_view.hpp"
#include "driver/backend.hpp"
#include "hold/composite_view.hpp"

#include <algorithm>

namespace conch {
namespace {

using impl::hold_request;

bool ended_by_user(const impl::hold_view& v) noexcept {
    return v.asked.load(std::memory_order_acquire) != hold_request::none;
}

// Marks the hold; the first mark counts.
bool mark(impl::hold_view& v, hold_request what) noexcept {
    hold_request none = hold_request::none;
    return v.asked.compare_exchange_strong(none, what, std::memory_order_acq_rel);
}

}  // namespace

hold& hold::operator=(hold&& other) noexcept {
    if (this != &other) {
        release();
        core_ = std::move(other.core_);
        view_ = std::move(other.view_);
    }
    return *this;
}

hold::~hold() {
    if (view_ && mark(*view_, hold_request::drop) && !core_->inherited()) {
        core_->look_at(*view_);
    }
}

hold::operator bool() const noexcept { return view_ && !ended_by_user(*view_); }

bool hold::owns_lock() const noexcept {
    return *this && !core_->inherited() && view_->lost.load(std::memory_order_acquire) == 0 &&
           clock::now() < valid_until();
}

time_point hold::valid_until() const noexcept {
    if (!view_) {
        return {};
    }
    return impl::end_of(*view_);
}

duration hold::remaining() const noexcept {
    return std::max(valid_until() - clock::now(), duration::zero());
}

std::uint64_t hold::fence() const noexcept { return view_ ? view_->fence : 0; }

error_code hold::lost_reason() const noexcept {
    const int why = view_ ? view_->lost.load(std::memory_order_acquire) : 0;
    return why != 0 ? make_error_code(static_cast<errc>(why)) : error_code{};
}

void hold::progress() const noexcept {
    if (view_ && !core_->inherited()) {
        impl::note_progress(*view_, clock::now());
    }
}

void hold::release() noexcept {
    if (view_ && mark(*view_, hold_request::release) && !core_->inherited()) {
        core_->look_at(*view_);
    }
}

void hold::detach() noexcept {
    if (view_ && mark(*view_, hold_request::detach) && !core_->inherited()) {
        core_->look_at(*view_);
    }
    view_.reset();
}

}  // namespace conch
