// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_LINK_EVENTS_HPP
#define CONCH_SRC_WIRE_LINK_EVENTS_HPP

#include "wire/call.hpp"
#include "wire/redirection.hpp"

#include <conch/error.hpp>
#include <conch/observer.hpp>

namespace conch::wire {

/// What the locks hear of their link.
struct link_events {
    void* owner = nullptr;
    /// A new connection is ready; nothing has been written on it but the greeting, and the
    /// command that fences the old connection.
    void (*ready)(void* owner) = nullptr;
    /// The connection broke, or an attempt to connect failed for a reason that will not pass.
    void (*lost)(void* owner, errc lasting_reason) = nullptr;
    /// It doesn't know where to connect, or is not connected any more (`was_ready`), or could not
    /// be: who knows better may say so with `move_to()`.
    void (*needs_address)(void* owner, bool was_ready) = nullptr;
    /// The server sends a call elsewhere: `adopt()`s it where it belongs, or delays it here. Null:
    /// there is nowhere else.
    void (*redirected)(void* owner, call& c, const redirection& to) = nullptr;
    /// Calls that were delayed are about to be sent again: takes what belongs elsewhere by now.
    /// Null: there is nowhere else.
    void (*resumed)(void* owner) = nullptr;
    /// The server takes no script with keys of several hash slots. Null: it gets none.
    void (*hash_slots_crossed)(void* owner) = nullptr;
    /// The connection is up, down or unused, and was not. Must not change anything. Null: nobody
    /// wants to know.
    void (*changed)(void* owner, const connection_change& c) = nullptr;

    void ask_for_address(bool was_ready) const {
        if (needs_address) {
            needs_address(owner, was_ready);
        }
    }
};

}  // namespace conch::wire

#endif
