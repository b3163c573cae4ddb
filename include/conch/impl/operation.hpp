// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_OPERATION_HPP
#define CONCH_IMPL_OPERATION_HPP

#include <conch/error.hpp>
#include <conch/impl/fwd.hpp>
#include <conch/impl/tracked.hpp>
#include <conch/lock_status.hpp>
#include <conch/options.hpp>
#include <conch/rate.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace conch::lock {
struct pending;
}

namespace conch::impl {

enum class request {
    lock,
    try_lock,
    unlock,
    extend,
    wait_lost,
    status,
    force_unlock,
    permits,
    try_permits,
    shutdown
};

/// One asynchronous operation between its initiating call and its handler, the handler's type
/// erased. Written by the initiating call, then owned by the client's strand.
struct operation {
    using finish_function = void (*)(operation*, bool deliver) noexcept;

    operation(request w, finish_function f) noexcept : what{w}, finish{f} {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    request what;
    /// Frees the operation, then posts its handler (`deliver`) or drops it. Ends the program where
    /// there is no memory for that: a handler that never runs would be worse.
    finish_function finish;

    core_ptr core{};
    spec_ptr spec{};
    lock_options options{};
    std::uint64_t owner = 0;  ///< the id of options.owner
    duration amount{};
    rate_spec_ptr limit{};
    std::uint64_t permits = 0;
    std::uint64_t ticket = 0;  ///< 0: can't be cancelled

    operation* next = nullptr;         ///< in the client's inbox
    lock::pending* running = nullptr;  ///< what the engine knows it by

    error_code ec{};
    view_ptr view{};
    bool flag = false;
    lock_status status{};
    rate_verdict verdict{};

protected:
    ~operation() = default;
};

/// Put into the handler's cancellation slot. Knows the operation by its ticket alone, so it may
/// be called at any time, from any thread. It is left there when the operation ends: clearing the
/// slot would race with a signal that another thread emits.
class cancel_handler {
public:
    cancel_handler(const core_ptr& core, std::uint64_t ticket) : core_{core}, ticket_{ticket} {}

    void operator()(boost::asio::cancellation_type type) const noexcept {
        if (type != boost::asio::cancellation_type::none) {
            request_cancel(core_, ticket_);
        }
    }

private:
    std::weak_ptr<client_core> core_;
    std::uint64_t ticket_;
};

/// `Result::take(operation&)` makes the handler's arguments, as a tuple.
template <typename Handler, typename Result>
class handler_operation final : public operation {
    using allocator = boost::asio::associated_allocator_t<Handler>;
    using executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    using self_allocator =
        typename std::allocator_traits<allocator>::template rebind_alloc<handler_operation>;

    struct delivery {
        using allocator_type = allocator;
        allocator_type get_allocator() const noexcept {
            return boost::asio::get_associated_allocator(handler);
        }
        void operator()() { std::apply(std::move(handler), std::move(arguments)); }
        Handler handler;
        decltype(Result::take(std::declval<operation&>())) arguments;
        tracked<executor> work;
    };

public:
    handler_operation(request w, const core_ptr& c, Handler&& handler)
        : operation{w, &handler_operation::finish_this},
          handler_{std::move(handler)},
          work_{boost::asio::get_associated_executor(handler_, executor_of(c))} {
        core = c;
        auto slot = boost::asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) {
            ticket = next_ticket(c);
            slot.template emplace<cancel_handler>(c, ticket);
        }
    }

    static handler_operation* make(request what, const core_ptr& core, Handler&& handler) {
        self_allocator alloc{boost::asio::get_associated_allocator(handler)};
        auto* p = std::allocator_traits<self_allocator>::allocate(alloc, 1);
        try {
            return ::new (static_cast<void*>(p)) handler_operation{what, core, std::move(handler)};
        } catch (...) {
            std::allocator_traits<self_allocator>::deallocate(alloc, p, 1);
            throw;
        }
    }

private:
    static void finish_this(operation* base, bool deliver) noexcept {
        auto* self = static_cast<handler_operation*>(base);
        self_allocator alloc{boost::asio::get_associated_allocator(self->handler_)};
        delivery result{std::move(self->handler_), Result::take(*self), std::move(self->work_)};
        const core_ptr keep = std::move(self->core);
        self->~handler_operation();
        std::allocator_traits<self_allocator>::deallocate(alloc, self, 1);
        if (deliver) {
            const executor ex = result.work.get_executor();
            boost::asio::post(ex, std::move(result));
        }
    }

    Handler handler_;
    tracked<executor> work_;
};

}  // namespace conch::impl

#endif
