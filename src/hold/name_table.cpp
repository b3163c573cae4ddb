// SPDX-License-Identifier: BSL-1.0
#include "hold/name_table.hpp"

namespace conch::lock {

lock_name* name_table::find(const impl::lock_spec& spec, bool durable) const noexcept {
    const auto it = all_.find(key{spec, durable});
    return it != all_.end() ? *it : nullptr;
}

acquisition* name_table::held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept {
    if (owner == 0) {
        return nullptr;
    }
    for (const bool durable : {false, true}) {
        lock_name* const n = find(spec, durable);
        acquisition* const a = n ? n->held_by(owner, protocol::is_shared(spec)) : nullptr;
        if (a) {
            return a;
        }
    }
    return nullptr;
}

void name_table::check_holds(const impl::lock_spec& spec) const {
    for (const bool durable : {false, true}) {
        if (lock_name* const n = find(spec, durable)) {
            n->check_holders();
        }
    }
}

}  // namespace conch::lock
