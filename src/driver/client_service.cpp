// SPDX-License-Identifier: BSL-1.0
#include "driver/client_service.hpp"

#include "driver/client_core.hpp"

#include <memory>

namespace conch::impl {

void client_service::add(client_core& core) {
    const std::lock_guard guard{mutex_};
    cores_.push_back(&core);
}

void client_service::remove(client_core& core) noexcept {
    const std::lock_guard guard{mutex_};
    std::erase(cores_, &core);
}

void client_service::shutdown() {
    std::vector<core_ptr> cores;
    {
        const std::lock_guard guard{mutex_};
        for (client_core* core : cores_) {
            if (core_ptr shared = core->weak_from_this().lock()) {
                cores.push_back(std::move(shared));
            }
        }
        cores_.clear();
    }
    for (const core_ptr& core : cores) {
        core->context_gone();
    }
}

}  // namespace conch::impl
