// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_EFFECT_HPP
#define CONCH_TEST_SIM_EFFECT_HPP

#include "sim/world.hpp"

namespace conch::sim {

/// Whether a fault did anything: those that it may harm say so once something was lost, refused or
/// kept waiting because of it, then or later.
class effect {
public:
    void felt() noexcept { felt_ = true; }
    bool was_felt() const noexcept { return felt_; }

private:
    bool felt_ = false;
};

/// Null: nobody asks for it.
inline void feel(effect* e) noexcept {
    if (e != nullptr) {
        e->felt();
    }
}

/// A moment until which something stands still, and the fault that set it.
struct standstill {
    instant until = 0;
    effect* by = nullptr;

    /// One that would be over sooner changes nothing.
    void prolong(instant t, effect* e) noexcept {
        if (t > until) {
            *this = {t, e};
        }
    }
};

}  // namespace conch::sim

#endif
