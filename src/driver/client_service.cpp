// SPDX-License-Identifier: BSL-1.0
#include "driver/client_service.hpp"

#include "driver/backend.hpp"

#include <memory>
#include <utility>

namespace conch::impl {

void client_service::registry::add(backend& core) {
    const std::lock_guard guard{mutex_};
    cores_.push_back(&core);
}

void client_service::registry::remove(backend& core) noexcept {
    {
        const std::lock_guard guard{mutex_};
        std::erase(cores_, &core);
    }
    removed_.notify_all();
}

std::vector<core_ptr> client_service::registry::take() {
    std::unique_lock guard{mutex_};
    std::vector<core_ptr> cores;
    std::erase_if(cores_, [&](backend* core) {
        core_ptr shared = core->keep();
        if (!shared) {
            return false;
        }
        cores.push_back(std::move(shared));
        return true;
    });
    // The others are being destroyed on other threads, and still use the context.
    removed_.wait(guard, [&] { return cores_.empty(); });
    return cores;
}

void client_service::registry::leave_to_parent() noexcept {
    for (backend* core : cores_) {
        core->leave_to_parent();
    }
}

// The reactor has been told before: what is closed now is closed in this process alone.
void client_service::notify_fork(boost::asio::execution_context::fork_event event) {
    if (event == boost::asio::execution_context::fork_child) {
        clients_->leave_to_parent();
    }
}

void client_service::shutdown() {
    for (const core_ptr& core : clients_->take()) {
        core->context_gone();
    }
}

}  // namespace conch::impl
