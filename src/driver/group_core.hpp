// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_GROUP_CORE_HPP
#define CONCH_SRC_DRIVER_GROUP_CORE_HPP

#include "driver/strand_core.hpp"
#include "group/lock_group.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace conch::impl {

/// One lock of a group: that on one of a quorum's servers, or one of several.
struct group_member {
    core_ptr core;
    spec_ptr spec;
};

/// One `quorum_mutex` or `multi_lock` at work: runs the group on a strand of the first client's
/// executor, and asks the clients what it wants of its members. Shared by the public handles, by
/// its questions to the clients, and by its own pending handlers.
class group_core final : public strand_core, private group::members {
public:
    using member_list = std::vector<group_member>;

    /// The first client's context stays while this is called.
    group_core(member_list all, const group::terms& how);
    ~group_core();

    const config& settings() const noexcept override { return first_->settings(); }
    observer* told() const noexcept override { return nullptr; }
    std::string servers() const override;
    void context_gone() noexcept override;
    void leave_to_parent() noexcept override {}

    /// From an operation that begins, on the strand.
    group::lock_group& group() noexcept { return group_; }

private:
    struct question;
    struct guarded_view;

    void woken(bool asked) override;
    void on_time() override { turn(); }
    void begin(operation& op) override;
    void cancel_running(operation& op) override;
    void asked_of(hold_view& view, hold_request what) override;

    void try_lock(std::size_t member, std::uint64_t id, const lock_options& o) override;
    void unlock(std::size_t member, std::uint64_t id, const view_ptr& hold) override;
    void leave(std::size_t member, std::uint64_t id, const view_ptr& hold, duration lease) override;
    void extend(std::size_t member, std::uint64_t id, const view_ptr& hold,
                duration lease) override;
    void wait_lost(std::size_t member, std::uint64_t id, const view_ptr& hold,
                   duration before) override;
    void status(std::size_t member, std::uint64_t id, const status_options& o) override;
    void force_unlock(std::size_t member, std::uint64_t id) override;
    void withdraw(std::uint64_t id) noexcept override;
    void release(std::size_t member, const view_ptr& hold) noexcept override;
    void detach(std::size_t member, const view_ptr& hold) noexcept override;
    group::view* make_view() override;

    void turn();
    void ask(const request& what, std::size_t member, std::uint64_t id, const view_ptr& hold,
             const asked_options& options);
    /// From the thread of a client.
    void answered(question& q) noexcept;
    bool put_answer(operation& q) noexcept;
    void take_answers();
    void drop_all() noexcept;

    const std::shared_ptr<const member_list> members_;  // shared with the holds
    const core_ptr first_;
    group::lock_group group_;
    std::map<std::uint64_t, question*> open_{};  // by id
    std::mutex answers_mutex_{};
    operation* answers_ = nullptr;
    operation** last_answer_ = &answers_;
    bool deaf_ = false;  // nobody takes them any more
};

}  // namespace conch::impl

#endif
