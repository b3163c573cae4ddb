// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_VIGIL_HPP
#define CONCH_SRC_WAIT_VIGIL_HPP

#include "core/environment.hpp"
#include "core/timer_heap.hpp"
#include "topology/servers.hpp"
#include "wait/wakeup.hpp"
#include "wire/subscriptions.hpp"

#include <cstdint>
#include <string_view>

namespace conch::lock {

/// Says when to ask the server again, while somebody waits for news of a name: at each message of
/// its channel, with each (re)subscription, and within the poll interval whatever comes. No news is
/// lost that comes while a question is on its way.
class vigil {
public:
    using function = void (*)(void* owner, wake why);

    /// `how`: asks, or lets a question that is on its way come to its end. It hears of each
    /// message, and of other reasons if no question is on its way.
    vigil(core::environment& e, topology::servers& s, std::uint16_t hash_slot, void* owner,
          function how) noexcept;
    ~vigil() { end(); }
    vigil(const vigil&) = delete;
    vigil& operator=(const vigil&) = delete;

    /// A question that follows leaves behind the subscription, in the same write.
    void begin(std::string_view channel);
    void end() noexcept;
    bool listening() const noexcept { return listener_.to != nullptr; }
    /// The message that is heard just now, if it came after all answers that were read before.
    std::string_view message() const noexcept;

    void asking() noexcept;
    /// In vain: asks again at once, if there was news that the answer may not know, or later.
    /// `stale`: it says what was so before the question was written.
    void answered(bool stale);
    /// A hash slot may have another server.
    void regrouped();

private:
    static void on_news(void* self, wire::news what);
    static void on_poll(void* self);

    void heard(wake why);
    void ask(wake why);

    core::environment& env_;
    topology::servers& servers_;
    void* const owner_;
    const function ask_;
    wire::listener listener_{this, &vigil::on_news};
    core::timer poll_{this, &vigil::on_poll};
    wakeup wakeup_{};
    const std::uint16_t hash_slot_;
    bool asked_ = false;  ///< a question is on its way
    bool moved_ = false;  ///< since then another server took over
};

}  // namespace conch::lock

#endif
