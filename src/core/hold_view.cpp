// SPDX-License-Identifier: BSL-1.0
#include "core/hold_view.hpp"

#include "core/recycling.hpp"

namespace conch::impl {

void* hold_view::operator new(std::size_t size) { return core::allocate_recycled(size); }

void hold_view::operator delete(void* p, std::size_t size) noexcept {
    core::free_recycled(p, size);
}

void intrusive_ptr_add_ref(hold_view* v) noexcept {
    v->references.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(hold_view* v) noexcept {
    if (v->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete v;
    }
}

}  // namespace conch::impl
