// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_VOTE_HPP
#define CONCH_SRC_API_VOTE_HPP

#include "core/timer_heap.hpp"

#include <conch/hold.hpp>
#include <conch/options.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <memory>

namespace conch::impl {

class quorum_core;

/// One server of a quorum, asked for the lock. Answers once, in time, unless it is withdrawn; what
/// is granted later is released.
class vote : public std::enable_shared_from_this<vote> {
public:
    /// Who wants the answer; withdraws the vote before going away.
    struct asker {
        /// `h` is empty where the server said busy, or nothing. `errc::not_connected`: no answer in
        /// time.
        virtual void answered(std::size_t member, error_code ec, hold h) = 0;

    protected:
        ~asker() = default;
    };
    using pointer = std::shared_ptr<vote>;

    /// Tries for `options.wait`; answers within `limit`.
    static pointer ask(std::shared_ptr<quorum_core> core, std::size_t member,
                       const lock_options& options, duration limit, asker& by);
    vote(std::shared_ptr<quorum_core> core, std::size_t member, const lock_options& options,
         duration limit, asker& by);
    vote(const vote&) = delete;
    vote& operator=(const vote&) = delete;
    ~vote();

    /// From now on another one wants the answer.
    void hand_over(asker& to) noexcept { by_ = &to; }
    /// The answer is not wanted any more.
    void withdraw();

private:
    void begin();
    void answer(error_code ec, hold h, bool unheard);
    static void on_again(void* self);
    static void on_limit(void* self);

    const std::shared_ptr<quorum_core> core_;
    const std::size_t member_;
    const lock_options options_;
    asker* by_;  // null once it was answered or withdrawn
    boost::asio::cancellation_signal cancel_{};
    core::timer again_;
    core::timer limit_;
    bool looked_ = false;  // once more, when the limit had passed
};

}  // namespace conch::impl

#endif
