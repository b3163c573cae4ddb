// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_WATCH_HPP
#define CONCH_SRC_API_QUORUM_WATCH_HPP

#include "api/quorum_task.hpp"
#include "core/timer_heap.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace conch::impl {

class quorum_holding;

/// One `async_wait_lost` of a quorum's hold: the same of each member; told when those that have not
/// told of their end are no majority.
class quorum_watch final : public quorum_task {
public:
    quorum_watch(const std::shared_ptr<quorum_core>& core, operation& op, quorum_holding& of);
    ~quorum_watch() override;

    /// This member too, from now on.
    void watch(std::size_t member);
    /// A member told of its end, or has no part in the hold any more: `why`.
    void recount(error_code why);
    /// The hold has ended.
    void end(error_code why);
    void cancel() override;

private:
    struct notice {
        std::uint64_t told = 0;     // serial of the member's hold
        std::uint64_t refused = 0;  // serial of one for whose watch its client had no room
        bool closing = false;       // so it told
        boost::asio::cancellation_signal stop{};
    };

    void told(std::size_t member, std::uint64_t serial, error_code why);
    void watch_renewed();
    void watch_later(std::size_t member, std::uint64_t serial);
    static void on_again(void* self);
    std::size_t silent() const noexcept;

    const boost::intrusive_ptr<quorum_holding> of_;
    const duration before_;
    std::vector<notice> notices_;
    core::timer again_;
};

}  // namespace conch::impl

#endif
