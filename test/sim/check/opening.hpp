// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CHECK_OPENING_HPP
#define CONCH_TEST_SIM_CHECK_OPENING_HPP

#include "sim/world.hpp"

#include <algorithm>

namespace conch::sim {

struct call;

/// Since when a lock admits those who want to read, or to write, and when they know.
class opening {
public:
    /// It does so at this time, or doesn't. `told`: a message has just said so; `poll`: whoever
    /// hears of none asks again after that.
    void look(bool open, bool told, instant now, instant poll) noexcept {
        if (!open) {
            since_ = closed;
        } else if (since_ == closed) {
            since_ = now;
            known_at_ = now + (told ? 0 : poll);
        }
    }
    bool open() const noexcept { return since_ != closed; }
    instant since() const noexcept { return since_; }
    /// By then, to all who have asked before.
    instant known_at() const noexcept { return known_at_; }

private:
    static constexpr instant closed = -1;

    instant since_ = 0;
    instant known_at_ = 0;
};

/// The first waiter of a client.
struct front {
    const call* of = nullptr;
    instant since = 0;
    instant answered_at = -1;  ///< "busy", the first time; -1: not yet
    instant blocked_at = 0;    ///< last, by a hold of its client

    /// When it is to ask the server, or has asked, for what is open. One that came first behind
    /// another may ask as late as that one would have.
    instant due(const opening& o, instant poll) const noexcept {
        const instant asked = answered_at < 0 ? since + poll : answered_at;
        return std::max({o.known_at(), asked, blocked_at});
    }
};

}  // namespace conch::sim

#endif
