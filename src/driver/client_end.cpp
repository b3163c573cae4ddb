// SPDX-License-Identifier: BSL-1.0
#include "driver/client_core.hpp"

#include <utility>

// How a client ends without its handlers.
namespace conch::impl {

// No handler is pending any more, so nobody can be told: what is left is dropped.
client_core::~client_core() {
    engine_.close();
    discard();
    connections_.clear();
    leave_context_service();
}

void client_core::context_gone() noexcept {
    close_gate();
    closed_ = true;
    engine_.close();
    for (connection& c : connections_) {
        if (c.at) {
            c.at->drop();
        }
        c = {};
    }
    discard();
    give_context_up();
}

void client_core::leave_to_parent() noexcept {
    for (connection& c : connections_) {
        if (c.at) {
            c.at->drop();
        }
    }
}

void client_core::discard() noexcept {
    for (operation* op : std::exchange(shutdowns_, {})) {
        op->finish(op, false);
    }
    strand_core::discard(engine_.completions());
}

}  // namespace conch::impl
