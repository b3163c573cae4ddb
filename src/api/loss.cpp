// SPDX-License-Identifier: BSL-1.0
#include <conch/lost_callback.hpp>

#include "core/hold_view.hpp"
#include "driver/backend.hpp"

namespace conch {

void impl::loss::happened(error_code reason) noexcept {
    why = reason;
    stop.request_stop();
}

std::shared_ptr<const impl::loss> impl::loss::of(const hold& h, duration before) {
    if (before < duration::zero()) {
        throw system_error{errc::invalid_wait};
    }
    const auto l = std::make_shared<loss>();
    if (!h) {
        l->happened(h.view_ ? errc::already_released : errc::not_owner);
    } else if (h.core_->inherited()) {
        l->happened(errc::forked);
    } else if (const error_code reason = h.lost_reason()) {
        l->happened(reason);
    } else {
        // Who has given it back is told of no loss.
        h.async_wait_lost(before, [l, view = h.view_](error_code why) {
            if (view->asked.load(std::memory_order_acquire) == hold_request::none) {
                l->happened(why);
            }
        });
    }
    return l;
}

std::stop_token hold::stop_token(duration before) const {
    return impl::loss::of(*this, before)->stop.get_token();
}

}  // namespace conch
