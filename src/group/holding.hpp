// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_HOLDING_HPP
#define CONCH_SRC_GROUP_HOLDING_HPP

#include "group/context.hpp"
#include "group/view.hpp"
#include "group/vote.hpp"

#include <conch/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace conch::group {

class watch;

/// A hold of a group: the holds of its members. Before `begin()`, it collects them for an attempt.
class holding final : public std::enable_shared_from_this<holding>, private vote::asker {
public:
    /// `options`: what members are asked for.
    holding(context& ctx, const lock_options& options);
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding();

    /// What its user sees.
    const own_view_ptr& seen() const noexcept { return view_; }

    bool has(std::size_t member) const noexcept { return view_->parts[member] != nullptr; }
    void put(std::size_t member, impl::view_ptr hold);
    void give_back() noexcept;
    /// Enough are there, for now.
    bool stands() const noexcept { return until() > ctx_.now; }

    /// It was granted. Votes on their way join it.
    void begin(std::span<vote::pointer> votes);
    /// Without a word: nobody answers any more.
    void drop() noexcept;

    // What the user asks.

    void release();
    void detach();
    void unlock(void* tag);
    void leave(void* tag, duration lease);
    void extend(void* tag, duration lease);
    void wait_lost(void* tag, duration before);

    // For its watches.

    bool has(std::size_t member, std::uint64_t serial) const noexcept {
        return has(member) && members_[member].serial == serial;
    }
    std::uint64_t serial_of(std::size_t member) const noexcept { return members_[member].serial; }
    const impl::view_ptr& member(std::size_t i) const noexcept { return view_->parts[i]; }
    /// How long this member's is good, at least zero.
    duration remaining(std::size_t member) const noexcept;
    /// The hold ends then at the latest, whatever its members say.
    time_point most() const noexcept { return *options_.renew ? most_ : std::min(most_, ends_); }
    errc why_at_most() const noexcept {
        return most() == most_ ? errc::max_hold_reached : errc::lease_expired;
    }
    void remove(watch& w) noexcept;

    /// By one of its members: those who join later are asked for as much.
    void extended(std::size_t member, duration lease);

private:
    struct member_hold {
        std::uint64_t serial = 0;  // of the member's hold
        vote::pointer asked{};
        bool closed = false;  // its client is
    };

    void answered(std::size_t member, error_code ec, impl::view_ptr hold) override;
    void join(std::size_t member);
    void member_ended(std::size_t member, std::uint64_t serial, reply& r);
    void heal();
    bool shows_no_progress() const noexcept;
    /// What a member that joins now is asked for; no lease if that is too late.
    lock_options healing_options() const noexcept;
    void note_deadline();
    void note_end_of(std::size_t member);
    /// Each member is asked to end its hold by `ask(member, id, hold)`; the task counts.
    template <typename Ask>
    void give_up(void* tag, Ask ask);
    void stop() noexcept;
    /// The hold ends for the user: `why` is none where it was released or detached.
    void end(error_code why);
    error_code why_too_few() const noexcept;
    time_point until() const noexcept { return view::until(*view_); }
    static void on_deadline(void* self);
    static void on_heal(void* self);

    context& ctx_;
    lock_options options_;
    const own_view_ptr view_;
    time_point ends_{};                    // by a fixed lease, whoever joins later
    time_point most_ = time_point::max();  // by max_hold
    time_point heal_after_{};
    bool held_ = false;
    std::vector<member_hold> members_;
    std::vector<std::shared_ptr<watch>> watches_{};
    core::timer deadline_;
    core::timer heal_;
};

}  // namespace conch::group

#endif
