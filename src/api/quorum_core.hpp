// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_CORE_HPP
#define CONCH_SRC_API_QUORUM_CORE_HPP

#include "api/majority.hpp"
#include "api/quorum_task.hpp"
#include "core/hold_view.hpp"
#include "core/random.hpp"
#include "core/timer_heap.hpp"
#include "driver/backend.hpp"
#include "driver/client_service.hpp"
#include "driver/context_gate.hpp"
#include "driver/inbox.hpp"

#include <conch/mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace conch::impl {

class quorum_holding;

/// The lock on one of the servers: its parts, for those who ask as no public handle does.
struct quorum_member {
    core_ptr core;
    spec_ptr spec;
    mutex lock;
};

/// One `quorum_mutex` at work: its tasks and holds, on a strand of the first client's executor.
/// Shared by the public handles, its tasks and its pending handlers.
class quorum_core final : public backend, public std::enable_shared_from_this<quorum_core> {
public:
    using strand_type = boost::asio::strand<boost::asio::any_io_executor>;

    quorum_core(std::vector<quorum_member> members, duration answer_timeout);
    ~quorum_core();

    void submit(operation& op) noexcept override;
    void cancel(std::uint64_t ticket) noexcept override;
    void look_at(hold_view& view) noexcept override;
    const config& settings() const noexcept override { return first_->settings(); }
    std::string servers() const override;
    boost::asio::any_io_executor executor() const noexcept override { return first_->executor(); }
    bool enter_context() noexcept override { return gate_.enter(); }
    void leave_context() noexcept override { gate_.leave(); }
    void context_gone() noexcept override;
    void leave_to_parent() noexcept override {}
    core_ptr keep() noexcept override { return weak_from_this().lock(); }

    // For its tasks and holds, on the strand.

    std::size_t size() const noexcept { return members_.size(); }
    std::size_t majority() const noexcept { return majority_of(size()); }
    const quorum_member& member(std::size_t i) const noexcept { return members_[i]; }
    duration answer_timeout() const noexcept { return answer_timeout_; }
    duration jitter(duration d) noexcept { return random_.jitter(d); }
    core::timer_heap& timers() noexcept { return timers_; }

    /// A handler for an operation of a client; `signal` cancels it.
    template <typename F>
    auto handler(boost::asio::cancellation_signal& signal, F f) {
        return boost::asio::bind_cancellation_slot(signal.slot(), handler(std::move(f)));
    }
    /// Each of them looks for what could not wake the strand, too.
    template <typename F>
    auto handler(F f) {
        return boost::asio::bind_executor(
            *strand_, [self = shared_from_this(), f = std::move(f)]<typename... T>(T&&... t) {
                f(std::forward<T>(t)...);
                self->take_inbox();
                self->arm_timer();
            });
    }

    /// Until `remove()` or the end of the context.
    void add(const std::shared_ptr<quorum_task>& task);
    void remove(quorum_task& task) noexcept;
    void add(quorum_holding& h);
    void remove(quorum_holding& h) noexcept;

private:
    using timer_type = boost::asio::steady_timer;

    void wake() noexcept;
    void take_inbox();
    void start(operation& op);
    void arm_timer();
    void drop_all() noexcept;

    const core_ptr first_;
    const std::vector<quorum_member> members_;
    const duration answer_timeout_;
    core::random random_;
    core::timer_heap timers_{};
    std::optional<strand_type> strand_{};  // none once the execution context is gone
    std::optional<timer_type> timer_{};
    time_point timer_at_ = time_point::max();  // when it will fire; max: not armed
    std::shared_ptr<client_service::registry> peers_{};
    context_gate gate_{};
    inbox inbox_{};
    boost::unordered_flat_map<quorum_task*, std::shared_ptr<quorum_task>> tasks_{};
    boost::unordered_flat_map<std::uint64_t, quorum_task*> cancellable_{};
    boost::unordered_flat_map<quorum_holding*, view_ptr> holdings_{};
};

}  // namespace conch::impl

#endif
