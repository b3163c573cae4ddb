// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_GROUP_NODE_HPP
#define CONCH_TEST_SIM_MAJORITY_GROUP_NODE_HPP

#include "group/lock_group.hpp"
#include "sim/world.hpp"

#include <conch/lock_status.hpp>
#include <conch/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace conch::sim::majority {

class group_node;
class process;
class user;

/// One call of a user to a group, and how it ended.
struct call {
    enum class kind : std::uint8_t { acquire, unlock, extend, watch, status, force };

    kind what = kind::acquire;
    user* by = nullptr;
    group_node* at = nullptr;
    std::size_t name = 0;
    instant asked_at = 0;
    lock_options options{};  ///< of an acquire
    bool try_only = false;
    time_point until{};        ///< by which an unlock ends, by its own clock
    instant since = 0;         ///< of an unlock: when the oldest part of the hold was asked for
    duration before{};         ///< of a watch
    duration lease{};          ///< of an extension
    impl::view_ptr extends{};  ///< what it prolongs
    impl::view_ptr watches{};  ///< what it tells the end of
    std::vector<std::string> fields{};  ///< of an unlock: what the servers have of the hold
    int completions = 0;
    error_code ec{};
    impl::view_ptr view{};
    impl::remark said = impl::remark::none;
    lock_status status{};
    bool given_up = false;  ///< its user cancelled it
};

/// A group in a process, with a driver on virtual time: it asks the engines of its process, and
/// what they answer reaches it in a later turn.
class group_node final : private group::members {
public:
    /// `places`: its members.
    group_node(process& home, std::size_t name, std::vector<std::size_t> places,
               std::uint64_t seed);
    group_node(const group_node&) = delete;
    group_node& operator=(const group_node&) = delete;
    ~group_node();

    /// A turn in which `input` is called; not while the process stands still.
    template <typename Input>
    void turn(Input&& input) {
        begin();
        input();
        end();
    }
    group::lock_group& group() noexcept { return group_; }
    const group::lock_group& group() const noexcept { return group_; }
    std::size_t name() const noexcept { return name_; }
    const std::vector<std::size_t>& places() const noexcept { return places_; }
    bool has(std::size_t place) const noexcept { return std::ranges::count(places_, place) > 0; }
    bool meets(const group_node& other) const noexcept {
        return name_ == other.name_ &&
               std::ranges::any_of(places_, [&](std::size_t p) { return other.has(p); });
    }
    /// So many of its members make a hold.
    std::size_t needed() const noexcept { return needed_; }
    /// At the end of a pause that is over before its time.
    void go_on();
    /// A member's answer, which is taken in a turn of its own.
    void answered(std::uint64_t id, group::reply r);

private:
    struct plain_view;

    void try_lock(std::size_t member, std::uint64_t id, const lock_options& o) override;
    void unlock(std::size_t member, std::uint64_t id, const impl::view_ptr& hold) override;
    [[noreturn]] void leave(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                            duration lease) override;
    void extend(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                duration lease) override;
    void wait_lost(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                   duration before) override;
    void status(std::size_t member, std::uint64_t id, const status_options& o) override;
    void force_unlock(std::size_t member, std::uint64_t id) override;
    void withdraw(std::uint64_t id) noexcept override;
    void release(std::size_t member, const impl::view_ptr& hold) noexcept override;
    void detach(std::size_t member, const impl::view_ptr& hold) noexcept override;
    group::view* make_view() override;

    void begin();
    void end();
    void arm_timer();
    void wake(std::uint64_t, std::uint64_t);
    void on_timer(std::uint64_t generation, std::uint64_t);
    void hand_out();
    void run_handler(std::uint64_t, std::uint64_t);

    process& home_;
    const std::size_t name_;
    const std::vector<std::size_t> places_;
    const std::size_t needed_;
    group::lock_group group_;
    std::deque<std::pair<std::uint64_t, group::reply>> answers_{};
    std::deque<call*> ended_{};
    bool woken_ = false;
    instant timer_at_ = -1;  // -1: not armed
    std::uint64_t timer_generation_ = 0;
};

}  // namespace conch::sim::majority

#endif
