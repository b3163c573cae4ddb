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
    timer_.reset();
    executor_ = {};
    peers_->remove(*this);
}

void client_core::context_gone() noexcept {
    gate_.close();
    closed_ = true;
    engine_.close();
    for (connection& c : connections_) {
        if (c.at) {
            c.at->drop();
        }
        c = {};
    }
    discard();
    timer_.reset();
    executor_ = {};
}

void client_core::leave_to_parent() noexcept {
    for (connection& c : connections_) {
        if (c.at) {
            c.at->drop();
        }
    }
}

// Destroys the handlers of all operations. They may own holds and clients, which leave their
// farewell in the inbox: nobody reads it any more.
void client_core::discard() noexcept {
    std::vector<lock::completion> ended;
    ended.swap(engine_.completions());
    for (lock::completion& c : ended) {
        c.view.reset();
        operation& op = *static_cast<operation*>(c.tag);
        op.finish(&op, false);
    }
    for (operation* op : std::exchange(shutdowns_, {})) {
        op->finish(op, false);
    }
    drop_inbox();
}

void client_core::drop_inbox() noexcept {
    inbox::contents in = inbox_.take();
    while (in.operations) {
        operation& op = *in.operations;
        in.operations = op.next;
        op.finish(&op, false);
    }
    while (in.holds) {
        const view_ptr view{in.holds, false};
        in.holds = view->next;
    }
}

}  // namespace conch::impl
