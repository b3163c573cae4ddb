// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_USER_HPP
#define CONCH_TEST_SIM_USER_HPP

#include "sim/client_node.hpp"
#include "sim/held.hpp"
#include "sim/world.hpp"

#include <conch/options.hpp>
#include <conch/owner.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace conch::sim {

class effect;
class simulation;

/// Someone who uses one client: acquires a lock, works under it, leaves it in one way or another,
/// and begins again; asks and forces now and then; nests, if the scenario has it.
class user {
public:
    user(simulation& all, std::uint64_t index, std::uint64_t client);
    user(const user&) = delete;
    user& operator=(const user&) = delete;

    void start();
    std::uint64_t client() const noexcept { return client_; }
    std::uint64_t index() const noexcept { return index_; }
    /// Waits for a lock of this name, and has not given up.
    bool wants(std::size_t name) const noexcept;
    /// Its call that waits for a lock of this name behind others, or did until its handler runs;
    /// null if there is none, it has given up, or asks for a deeper level.
    const call* queued_for(std::size_t name) const noexcept;
    std::size_t name() const noexcept { return name_; }
    /// When it began to.
    instant wants_since() const noexcept { return asked_at_; }
    /// When its waiting must be over if nothing disturbs it; -1: it doesn't wait, or for ever.
    instant wants_until() const noexcept;
    /// When it asked for a deeper level of what it has, which has not come yet; -1: it didn't.
    instant nests_since() const noexcept;
    /// No new work: leaves what it has, gives up what it waits for.
    void stop();
    /// A lock is about to be free: it may want one now.
    void tempt();
    /// Its client's process ended.
    void die();
    bool idle() const noexcept { return levels_.empty() && !acquiring_ && !waiting_for_; }

    /// The handler of one of its calls.
    void ended(call& c);

private:
    static error_code given_up() noexcept;  // what cancelled operations end with
    client_node& node() noexcept;
    instant soon();
    void plan(instant when);
    void act(std::uint64_t generation, std::uint64_t);
    void begin();
    void acquire();
    void put_acquire(bool try_only);
    template <typename Question>
    void put(call& c, Question&& question);
    void ask();
    void force();
    void cancel(std::uint64_t generation, std::uint64_t);
    void cancel_soon();
    void may_tire_of(call& c);
    void tire_of(std::uint64_t number, std::uint64_t);
    void break_line(std::uint64_t, std::uint64_t);
    void acquired(call& c);
    void work();
    void nest();
    void extend();
    void report();
    void downgrade();
    void leave();
    void drop(std::size_t level);
    void unlock();
    void tempt_another();
    call& call_now();
    void watch(held& h);
    void watch_more(const held& h);
    bool lost(const held& h) const noexcept;
    lock_options choose();

    simulation& all_;
    const std::uint64_t index_;
    const std::uint64_t client_;
    owner owner_{};
    std::uint64_t generation_ = 0;  // of what it plans next
    call* acquiring_ = nullptr;
    call* waiting_for_ = nullptr;  // another answer that it awaits
    effect* forcing_ = nullptr;    // what came of it, if it forces
    lock_options options_{};
    std::size_t name_ = 0;
    instant asked_at_ = 0;
    bool gave_up_ = false;
    bool nested_ = false;  // in the acquisition that it has, or tried to
    std::vector<std::list<held>::iterator> levels_{};  // outermost first
};

}  // namespace conch::sim

#endif
