// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_VOTE_HPP
#define CONCH_SRC_GROUP_VOTE_HPP

#include "core/timer_heap.hpp"
#include "group/members.hpp"

#include <conch/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace conch::group {

struct context;

/// One server of a group, asked for the lock. Answers once, in time, unless it is withdrawn; what
/// is granted later is released.
class vote : public std::enable_shared_from_this<vote> {
public:
    /// Who wants the answer; withdraws the vote before going away.
    struct asker {
        /// `hold` is none where the server said busy, or nothing. `errc::not_connected`: no answer
        /// in time.
        virtual void answered(std::size_t member, error_code ec, impl::view_ptr hold) = 0;

    protected:
        ~asker() = default;
    };
    using pointer = std::shared_ptr<vote>;

    /// Tries for `options.wait`; answers within `limit`.
    static pointer ask(context& ctx, std::size_t member, const lock_options& options,
                       duration limit, asker& by);
    vote(context& ctx, std::size_t member, const lock_options& options, duration limit, asker& by);
    vote(const vote&) = delete;
    vote& operator=(const vote&) = delete;
    ~vote();

    /// From now on another one wants the answer.
    void hand_over(asker& to) noexcept { by_ = &to; }
    /// The answer is not wanted any more.
    void withdraw();

private:
    void begin();
    void told(std::size_t, std::uint64_t, reply& r);
    void stop() noexcept;
    static void on_again(void* self);
    static void on_limit(void* self);

    context& ctx_;
    const std::size_t member_;
    const lock_options options_;
    asker* by_;             // null once it was answered or withdrawn
    std::uint64_t id_ = 0;  // of the question; 0: none
    core::timer again_;
    core::timer limit_;
    bool looked_ = false;  // once more, when the limit had passed
};

}  // namespace conch::group

#endif
