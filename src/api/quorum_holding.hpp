// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_HOLDING_HPP
#define CONCH_SRC_API_QUORUM_HOLDING_HPP

#include "api/quorum_core.hpp"
#include "api/vote.hpp"
#include "hold/composite_view.hpp"

#include <conch/hold.hpp>
#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace conch::impl {

class quorum_watch;

/// A hold of a quorum: the holds of its members. On the core's strand, but for `until()`; before
/// `begin()`, it collects them for an attempt.
class quorum_holding final : public composite_view, private vote::asker {
public:
    /// `options`: what members are asked for.
    quorum_holding(quorum_core& core, const lock_options& options);
    ~quorum_holding();

    time_point until() const noexcept;

    bool has(std::size_t member) const noexcept { return static_cast<bool>(slots_[member].of); }
    void put(std::size_t member, hold h);
    void give_back() noexcept;
    /// A majority is there, for now.
    bool stands() const noexcept;

    /// It was granted. Votes on their way join it.
    void begin(std::span<vote::pointer> votes);
    /// Without a word: the execution context is gone.
    void drop() noexcept;

    // What the user asks.

    void release();
    void detach();
    void unlock(operation& op);
    void extend(operation& op);
    void wait_lost(operation& op);

    // For its watches.

    bool has(std::size_t member, std::uint64_t serial) const noexcept {
        return has(member) && slots_[member].serial == serial;
    }
    std::uint64_t serial_of(std::size_t member) const noexcept { return slots_[member].serial; }
    const hold& member(std::size_t i) const noexcept { return slots_[i].of; }
    quorum_core& core() const noexcept { return core_; }
    void remove(quorum_watch& w) noexcept;

private:
    static const kind this_kind;

    struct slot {
        hold of{};
        std::uint64_t serial = 0;  // of the hold
        vote::pointer asked{};
        bool closed = false;  // its client is
    };

    void answered(std::size_t member, error_code ec, hold h) override;
    void join(std::size_t member);
    void member_ended(std::size_t member, std::uint64_t serial, error_code why);
    void heal();
    /// What a member that joins now is asked for; no lease if that is too late.
    lock_options healing_options() const noexcept;
    void note_deadline();
    void extended(duration lease);
    void stop() noexcept;
    /// The hold ends for the user: `why` is none where it was released or detached.
    void end(error_code why);
    error_code reason() const noexcept;
    error_code why_no_majority() const noexcept;
    hold take(std::size_t member) noexcept;
    static void on_deadline(void* self);
    static void on_heal(void* self);

    quorum_core& core_;
    lock_options options_;
    time_point ends_{};                    // by a fixed lease
    time_point most_ = time_point::max();  // by max_hold
    time_point heal_after_{};
    bool held_ = false;
    mutable std::mutex mutex_{};  // of what `until()` reads: the holds in the slots, and this:
    bool ended_ = false;
    std::vector<slot> slots_;
    std::vector<std::shared_ptr<quorum_watch>> watches_{};
    core::timer deadline_;
    core::timer heal_;
};

}  // namespace conch::impl

#endif
