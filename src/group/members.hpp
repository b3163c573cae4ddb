// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_MEMBERS_HPP
#define CONCH_SRC_GROUP_MEMBERS_HPP

#include "group/view.hpp"

#include <conch/impl/remark.hpp>
#include <conch/lock_status.hpp>
#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>

namespace conch::group {

/// What a member answers to one question.
struct reply {
    error_code ec{};
    impl::view_ptr view{};  ///< the hold, where a try was granted
    impl::remark said = impl::remark::none;
    lock_status status{};
};

/// The lock at each of the servers, as a group asks for it. Each question is answered once, by
/// `lock_group::told()` with its `id`, in a later turn.
class members {
public:
    virtual void try_lock(std::size_t member, std::uint64_t id, const lock_options& o) = 0;
    virtual void unlock(std::size_t member, std::uint64_t id, const impl::view_ptr& hold) = 0;
    virtual void leave(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                       duration lease) = 0;
    virtual void extend(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                        duration lease) = 0;
    /// Answered when the hold ends, or `before` ahead of its deadline or of its client's end.
    virtual void wait_lost(std::size_t member, std::uint64_t id, const impl::view_ptr& hold,
                           duration before) = 0;
    virtual void status(std::size_t member, std::uint64_t id, const status_options& o) = 0;
    virtual void force_unlock(std::size_t member, std::uint64_t id) = 0;
    /// The answer is not waited for any more, and comes soon. No-op for an `id` that was answered.
    virtual void withdraw(std::uint64_t id) noexcept = 0;

    /// In the background.
    virtual void release(std::size_t member, const impl::view_ptr& hold) noexcept = 0;
    virtual void detach(std::size_t member, const impl::view_ptr& hold) noexcept = 0;

    /// One for a hold that begins; its kind's `destroy` ends it.
    virtual view* make_view() = 0;

protected:
    ~members() = default;
};

}  // namespace conch::group

#endif
