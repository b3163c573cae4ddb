// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_USER_HPP
#define CONCH_TEST_SIM_MAJORITY_USER_HPP

#include "sim/majority/group_node.hpp"
#include "sim/world.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <list>

namespace conch::sim::majority {

class process;
class simulation;
struct held;

/// By how much more than any lease a user extends one, at most.
inline constexpr int longest_extension = 2;

/// Someone in a process who wants locks of majorities, one at a time: acquires or tries, works,
/// extends, watches, gives back, and gives up now and then.
class user {
public:
    user(simulation& all, process& home, std::size_t index);
    user(const user&) = delete;
    user& operator=(const user&) = delete;

    process& home() noexcept { return home_; }
    void start();
    /// No new work: gives up what it waits for, and what it has.
    void stop();
    /// At rest: acquires this lock, or tries to, and gives it back.
    void probe(std::size_t name, duration wait, bool try_only = false);
    void die() noexcept;
    bool idle() const noexcept { return !waiting_for_ && !has_; }
    /// How the last operation ended that it waited for.
    error_code last_end() const noexcept { return last_end_; }
    /// Null if it waits for nothing.
    const call* asks_now() const noexcept { return waiting_for_; }

    /// The handler of one of its calls.
    void ended(call& c);

private:
    void plan(instant when);
    void act(std::uint64_t generation, std::uint64_t);
    void tire(std::uint64_t generation, std::uint64_t);
    void may_tire();
    void begin();
    void acquire(lock_options o, bool try_only);
    void got(call& c);
    void work();
    void watch();
    void extend();
    void leave();
    lock_options choose();
    instant soon();
    call& start_call(call::kind what);

    simulation& all_;
    process& home_;
    const std::size_t index_;
    group_node* at_ = nullptr;
    std::uint64_t generation_ = 0;  // of what it plans next
    call* waiting_for_ = nullptr;
    error_code last_end_{};
    bool has_ = false;
    std::list<held>::iterator held_{};
};

}  // namespace conch::sim::majority

#endif
