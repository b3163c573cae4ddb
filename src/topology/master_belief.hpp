// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_MASTER_BELIEF_HPP
#define CONCH_SRC_TOPOLOGY_MASTER_BELIEF_HPP

#include "core/time.hpp"
#include "wire/address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace conch::topology {

/// Which of the masters that sentinels name is believed.
///
/// A sentinel that was cut off together with an old master goes on naming it. A sentinel that names
/// another server than before is believed
/// - if its configuration is newer (`config-epoch`: each failover has a greater one);
/// - if its configuration is as new, and the server before is not reached;
/// - if it may not tell the epoch (no right to `+sentinel|master`);
/// - if as many statements in a row as there are sentinels name the same, as when all were told to
///   monitor another master. While the server before is reached, most of the sentinels must be
///   among them, so that one does not speak for the dead. One address may be that of a service with
///   several sentinels behind it: three connections in a row are enough then.
///
/// Where no configuration is newer than the last, and the sentinels named twice as many servers as
/// there are sentinels, none of which was met as a master, each further one has to wait a second.
class master_belief {
public:
    explicit master_belief(std::size_t sentinels) noexcept : sentinels_{sentinels} {}

    /// What a sentinel says, and what is known where it says so.
    struct statement {
        std::size_t by = 0;                   ///< which sentinel
        const wire::address& names;           ///< the master
        std::optional<std::int64_t> epoch{};  ///< of its configuration, if it told
        const wire::address& before;          ///< the master until now
        bool reached = false;                 ///< that one is
        time_point now{};
    };
    enum class verdict : std::uint8_t {
        believed,
        doubted,   ///< the others are to say, too
        too_soon,  ///< it would be, from `next_turn()` on
    };
    verdict judge(const statement& s);
    /// The present one was asked for the last time: what is said next, another says.
    void asks_next() noexcept { counted_ = false; }
    /// There is another master than before.
    void turned(time_point now) noexcept {
        ++turns_;
        turned_at_ = now;
    }
    /// A master was met.
    void met() noexcept { turns_ = 0; }
    time_point next_turn() const noexcept { return core::after(turned_at_, pause); }
    /// The server that was named and not believed; null if there is none.
    const wire::address* doubted() const noexcept {
        return doubt_.in_a_row != 0 ? &doubt_.at : nullptr;
    }
    /// It would replace one that is not reached.
    bool nobody_is_reached() const noexcept { return doubted() && !doubt_.reached; }

    /// Where no master is reached, and the sentinels may name another one.
    static constexpr duration pause = std::chrono::seconds{1};

private:
    /// What was not believed.
    struct doubt {
        wire::address at{};
        bool reached = false;          // the server before is
        std::size_t in_a_row = 0;      // so many named that
        std::vector<bool> named_it{};  // of each of the sentinels
    };

    bool all_agree(const statement& s);

    const std::size_t sentinels_;
    std::size_t turns_ = 0;   // to another address, and no master was met
    time_point turned_at_{};  // the last of them
    std::int64_t epoch_ = 0;  // the greatest of those that were believed
    doubt doubt_{};
    bool counted_ = false;  // the one that is asked, in a row
};

}  // namespace conch::topology

#endif
