// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_WAKEUP_HPP
#define CONCH_SRC_WAIT_WAKEUP_HPP

#include <cstdint>

namespace conch::lock {

/// What ends an await of the conversation of a contended name.
enum class wake : std::uint8_t {
    message,        ///< somebody released the lock
    news,           ///< of the subscription: messages come, or don't, from now on
    head,           ///< there is another first waiter, who needs a try of its own
    head_left,      ///< some waiter gave up, and no local hold is in the way of the first one
    overdue,        ///< the first waiter's wait is over: it needs a last try
    deadline,       ///< what was awaited did not come in time
    no_others,      ///< nobody elsewhere waits, whose turn it could be
    local_release,  ///< the hold of this client ended
    busy,           ///< a try was answered: others have the lock
    tried,          ///< the tries ended otherwise: granted, failed, or given up
    nobody,         ///< nobody waits any more
};

constexpr std::uint16_t bit(wake w) noexcept {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(w));
}

/// Reasons to try again. They stay until a try has seen them: none is lost that comes while a try
/// is on its way, or before the conversation awaits it.
class wakeup {
public:
    void add(wake why) noexcept {
        if (why == wake::head || why == wake::overdue) {
            head_ = true;
        } else {
            ++count_;
            last_ = why;
        }
    }
    void try_began() noexcept {
        tried_ = count_;
        head_ = false;
    }
    /// Messages come in the order of the server's doing: those before its answer are answered by
    /// it. Those of another server are not, if they came while the try was on its way.
    void try_was_busy(bool elsewhere) noexcept { seen_ = elsewhere ? tried_ : count_; }

    bool pending() const noexcept { return count_ != seen_ || head_; }
    wake first() const noexcept { return count_ != seen_ ? last_ : wake::head; }

private:
    // Only compared with each other, which are never far apart: they may overflow.
    std::uint32_t count_ = 0;
    std::uint32_t tried_ = 0;  ///< what it was when the last try began
    std::uint32_t seen_ = 0;   ///< of these, answered by the last try
    wake last_ = wake::news;
    bool head_ = false;
};

}  // namespace conch::lock

#endif
