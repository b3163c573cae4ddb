// SPDX-License-Identifier: BSL-1.0
#include "driver/client_service.hpp"

#include "driver/client_core.hpp"

#include <memory>

namespace conch::impl {

void client_service::registry::add(client_core& core) {
    const std::lock_guard guard{mutex_};
    cores_.push_back(&core);
}

void client_service::registry::remove(client_core& core) noexcept {
    const std::lock_guard guard{mutex_};
    std::erase(cores_, &core);
}

std::vector<core_ptr> client_service::registry::take() {
    const std::lock_guard guard{mutex_};
    std::vector<core_ptr> cores;
    for (client_core* core : cores_) {
        if (core_ptr shared = core->weak_from_this().lock()) {
            cores.push_back(std::move(shared));
        }
    }
    cores_.clear();
    return cores;
}

void client_service::shutdown() {
    for (const core_ptr& core : clients_->take()) {
        core->context_gone();
    }
}

}  // namespace conch::impl
