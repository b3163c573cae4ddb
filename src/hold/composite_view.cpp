// SPDX-License-Identifier: BSL-1.0
#include "hold/composite_view.hpp"

#include "hold/level.hpp"

namespace conch::impl {

void intrusive_ptr_add_ref(hold_view* v) noexcept {
    v->references.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(hold_view* v) noexcept {
    if (v->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        if (v->composite) {
            auto& c = static_cast<composite_view&>(*v);
            c.of.destroy(c);
        } else {
            delete static_cast<lock::level*>(v);
        }
    }
}

}  // namespace conch::impl
