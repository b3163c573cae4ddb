// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_STRAND_CORE_HPP
#define CONCH_SRC_DRIVER_STRAND_CORE_HPP

#include "driver/backend.hpp"
#include "driver/client_service.hpp"
#include "driver/context_gate.hpp"
#include "driver/handler_memory.hpp"
#include "driver/inbox.hpp"
#include "driver/strand_queue.hpp"
#include "hold/pending.hpp"

#include <conch/impl/operation.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace conch::impl {

/// What a client and a quorum share: an inbox, a strand on the executor, and one timer. Shared by
/// the public handles and by its own pending handlers.
class strand_core : public backend, public std::enable_shared_from_this<strand_core> {
public:
    // From any thread.

    void submit(operation& op) noexcept final;
    void cancel(std::uint64_t ticket) noexcept final;
    void look_at(hold_view& view) noexcept final;
    boost::asio::any_io_executor executor() const noexcept final;
    bool enter_context() noexcept final { return gate_.enter(); }
    void leave_context() noexcept final { gate_.leave(); }
    core_ptr keep() noexcept final { return weak_from_this().lock(); }

    /// From a handler that keeps this. Nothing goes on in a forked child.
    void pass(event& e) {
        if (!inherited()) {
            strand_queue_.pass(e);
        }
    }

protected:
    /// An event of this.
    struct core_event : event {
        core_event(strand_core& c, function f) noexcept : event{f}, of{c} {}
        strand_core& of;
    };

    explicit strand_core(boost::asio::any_io_executor executor);
    ~strand_core() = default;

    // On the strand.

    /// The wake-up has come; whether anything was put into the inbox.
    virtual void woken(bool asked) = 0;
    virtual void on_time() = 0;
    virtual void begin(operation& op) = 0;
    /// The operation runs, and its caller no longer waits.
    virtual void cancel_running(operation& op) = 0;
    virtual void asked_of(hold_view& view, hold_request what) = 0;

    /// The context ends it from now on; in the derived constructor.
    void join_context();
    /// No handler runs any more, or none is left; twice is as good as once.
    void give_context_up() noexcept;
    /// In the derived destructor.
    void leave_context_service() noexcept;
    /// Waits for the threads that are at work with the context.
    void close_gate() noexcept { gate_.close(); }

    /// Whether a wake-up comes.
    bool wake() noexcept;
    /// Whether its client was abandoned.
    bool take_inbox();
    bool wakes() noexcept { return inbox_.wakes(); }
    bool abandon_in_inbox() noexcept { return inbox_.abandon(); }
    /// Wakes it at this time, or earlier; never: not at all.
    void arm_timer(time_point at, time_point now);
    void deliver(std::vector<lock::completion>& ended);
    /// Destroys the handlers of these operations, and of those in the inbox.
    void discard(std::vector<lock::completion>& ended) noexcept;
    const boost::asio::any_io_executor& own_executor() const noexcept { return executor_; }

    /// Where it is known what the executor is, the handler's own allocator is used.
    template <typename Handler>
    void post(handler_memory& memory, Handler handler) {
        auto bound =
            boost::asio::bind_allocator(handler_memory::allocator<>{memory}, std::move(handler));
        using context_executor = boost::asio::io_context::executor_type;
        if (const auto* const of_context = executor_.target<context_executor>()) {
            boost::asio::post(*of_context, std::move(bound));
        } else {
            boost::asio::post(executor_, std::move(bound));
        }
    }

private:
    using timer_type =
        boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                          boost::asio::wait_traits<std::chrono::steady_clock>>;

    void start(operation& op);
    /// Whether it runs.
    bool cancel_now(std::uint64_t ticket);
    static void on_woken(event& e);
    static void on_timer(event& e);

    boost::asio::any_io_executor executor_;
    std::optional<timer_type> timer_{};  // none once the execution context is gone
    std::shared_ptr<client_service::registry> peers_{};
    mutable context_gate gate_{};              // whoever is inside may use executor_
    time_point timer_at_ = time_point::max();  // when it will fire; max: not armed
    boost::unordered_flat_map<std::uint64_t, operation*> cancellable_{};
    inbox inbox_{};
    strand_queue strand_queue_{};
    core_event woken_{*this, &strand_core::on_woken};
    core_event timed_{*this, &strand_core::on_timer};
    handler_memory wake_memory_{};
    handler_memory timer_memory_{};
};

}  // namespace conch::impl

#endif
