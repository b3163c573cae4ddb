// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_EVENTS_HPP
#define CONCH_SRC_HOLD_EVENTS_HPP

#include <conch/error.hpp>

#include <cstdint>

namespace conch::lock {

class lock_name;
struct acquisition;

/// What those who wait for a name hear of its acquisitions.
struct hold_events {
    /// Whether enough replicas have the acquisition that was tried, and if not, why.
    void (*confirmed)(acquisition& a, errc why);
    /// The last level was released: gives the acquisition as it is to a waiter, with no word to the
    /// server. True if one took it.
    bool (*pass_on)(acquisition& a);
    /// The release is to leave: lets the acquire of a waiter, which does both, leave instead. True
    /// if it does.
    bool (*hand_over)(acquisition& a);
    /// `done`: the writer's hold is a reader's from now on, and other readers may come in. Else it
    /// is a writer's, as before.
    void (*downgraded)(acquisition& a, bool done);
    /// The hold ended. `releasing`: its release leaves in this turn.
    void (*ended)(acquisition& a, bool releasing);
    /// So many clients were told of a release.
    void (*release_reached)(lock_name& n, std::int64_t clients);
    /// An acquisition is gone from the server, and from here.
    void (*forgotten)(lock_name& n);
};

}  // namespace conch::lock

#endif
