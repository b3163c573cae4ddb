// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_PROCESS_HPP
#define CONCH_TEST_SIM_MAJORITY_PROCESS_HPP

#include "sim/client_node.hpp"
#include "sim/majority/group_node.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace conch::sim::majority {

class simulation;

/// What a group asks the engine of a member.
struct question {
    enum class kind : std::uint8_t { try_lock, unlock, extend, wait_lost, status, force };

    kind what;
    group_node* by;
    std::size_t place;
    std::uint64_t id;  ///< the group's; of a stranger's: the number of it
    lock_options options{};
    duration amount{};
    impl::view_ptr hold{};
    sim::call of{};
    instant asked_at = 0;
    bool by_stranger = false;  ///< `by` is any group of that name
};

/// A client's process: an engine for each server, each on a strand of its own, and groups of them.
/// What goes from one strand to another arrives later.
class process {
public:
    process(simulation& all, std::size_t index);
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process();

    simulation& all() noexcept { return all_; }
    std::size_t index() const noexcept { return index_; }
    instant began_at() const noexcept { return began_at_; }
    const config& settings() const noexcept { return nodes_.front()->settings(); }
    /// Places at one server have the same.
    client_node& node(std::size_t place) noexcept { return *nodes_[place % nodes_.size()]; }
    const client_node& node(std::size_t place) const noexcept {
        return *nodes_[place % nodes_.size()];
    }
    std::vector<std::unique_ptr<group_node>>& groups() noexcept { return groups_; }
    const std::vector<std::unique_ptr<group_node>>& groups() const noexcept { return groups_; }
    time_point local_now() const noexcept { return nodes_.front()->local_now(); }
    instant true_time(time_point t) const noexcept { return nodes_.front()->true_time(t); }
    /// One of its strands may hang nevertheless.
    bool running() const noexcept;
    bool dead() const noexcept { return nodes_.front()->dead(); }
    instant paused_until() const noexcept { return paused_until_; }
    instant put_off() noexcept;
    /// Until when it stood still, or one of its strands hung.
    instant hangs_until() const noexcept;
    /// The client of one of its members is shut down.
    bool is_closing() const noexcept;

    /// What the server has of this part of a hold.
    std::string field_of(std::size_t place, impl::hold_view& part) const;
    /// When that was asked for first: it may have been passed on since.
    instant born(std::size_t place, impl::hold_view& part) const;
    /// When its first owner heard of it.
    instant granted(std::size_t place, impl::hold_view& part) const;

    /// The engine of this place forces a release, whatever the groups want; `number`: the
    /// strangers'.
    void force_at(std::size_t name, std::size_t place, std::size_t number);

    void pause(instant until, effect* e);
    void die(bool heard);
    void heal();

    // The groups'.

    question& ask(group_node& by, std::size_t place, std::uint64_t id, question::kind what);
    void withdraw(group_node& by, std::uint64_t id) noexcept;
    void give_up(std::size_t place, const impl::view_ptr& hold, impl::hold_request how) noexcept;

private:
    /// The driver of one engine.
    struct port final : client_events {
        explicit port(process& p) : home{p} {}
        void ended(std::uint64_t, sim::call& c) override { home.answered(c); }
        void turned(std::uint64_t) override;

        process& home;
    };
    /// As the inbox of the real one: what is in it is taken in one turn, in this order.
    struct inbox {
        std::vector<std::pair<impl::view_ptr, impl::hold_request>> holds{};
        std::vector<question*> cancelled{};
        std::vector<question*> asked{};
        bool woken = false;
    };

    /// The acquisition that `part` is of: its number, 0 once it ended.
    static std::uint64_t number_of(impl::hold_view& part) noexcept;
    inbox& inbox_for(std::size_t place) noexcept { return inboxes_[place % inboxes_.size()]; }
    void wake(std::size_t place) noexcept;
    void deliver(std::uint64_t server, std::uint64_t);
    void start(client_node& to, question& q);
    void answered(sim::call& c);

    simulation& all_;
    const std::size_t index_;
    const instant began_at_;
    std::deque<port> ports_{};
    std::vector<std::unique_ptr<client_node>> nodes_{};
    std::vector<inbox> inboxes_{};
    std::deque<question> questions_{};
    std::map<std::pair<group_node*, std::uint64_t>, question*> open_{};
    struct birth {
        instant asked_at;
        instant granted_at;
    };
    std::map<std::pair<std::size_t, std::uint64_t>, birth> born_{};  // acquisitions
    std::vector<std::unique_ptr<group_node>> groups_{};
    instant paused_until_ = 0;
    bool ending_ = false;
};

}  // namespace conch::sim::majority

#endif
