// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_OPERATION_HPP
#define CONCH_IMPL_OPERATION_HPP

#include <conch/error.hpp>
#include <conch/impl/asked_options.hpp>
#include <conch/impl/fwd.hpp>
#include <conch/impl/once_note.hpp>
#include <conch/impl/operation_memory.hpp>
#include <conch/impl/remark.hpp>
#include <conch/impl/tracked.hpp>
#include <conch/lock_status.hpp>
#include <conch/rate.hpp>
#include <conch/server_reply.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace conch::lock {
struct pending;
}

namespace conch::impl {

class client_core;
class group_core;

/// What an operation asks for, and how it begins.
struct request {
    void (*begin)(client_core& c, operation& op);
    /// Null: a group of locks is never asked for it.
    void (*begin_in_group)(group_core& c, operation& op) = nullptr;

    static const request lock;
    static const request try_lock;
    static const request unlock;
    static const request leave;
    static const request extend;
    static const request downgrade;
    static const request wait_lost;
    static const request status;
    static const request force_unlock;
    static const request watch;
    static const request permits;
    static const request try_permits;
    static const request acquire_counted;
    static const request try_acquire_counted;
    static const request add_counted;
    static const request set_counted;
    static const request try_set_counted;
    static const request drain_counted;
    static const request arm_counted;
    static const request count_down_counted;
    static const request look_counted;
    static const request look_out_counted;
    static const request look_total_counted;
    static const request ask;
    static const request note;
    static const request shutdown;
};

inline constexpr std::uint64_t last_ticket = ~std::uint64_t{0} >> 2;

/// What `observer::caller_context` gave.
using caller_context = std::shared_ptr<const void>;

/// One asynchronous operation between its initiating call and its handler, the handler's type
/// erased. Written by the initiating call, then owned by the client's strand.
struct operation {
    using finish_function = void (*)(operation*, bool deliver) noexcept;

    operation(const request& w, finish_function f) noexcept : finish{f}, what{w} {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    /// Frees the operation, then posts its handler (`deliver`) or drops it. Ends the program where
    /// there is no memory for that: a handler that never runs would be worse.
    finish_function finish;
    core_ptr core{};
    spec_ptr spec{};
    union {
        asked_options options{};
        posting_memory posting;  ///< once it has ended
    };
    std::uint64_t ticket : 62 = 0;  ///< 0: can't be cancelled
    remark said : 2 = remark::none;
    union {
        operation* next = nullptr;  ///< in the client's inbox
        lock::pending* running;     ///< what the engine knows it by, from then on
    };
    error_code ec{};
    view_ptr view{};
    std::unique_ptr<caller_context> caller{};  ///< null: the observer knows nothing of it
    const request& what;

protected:
    ~operation() = default;
};

/// Asks about a lock.
struct status_operation : operation {
    using operation::operation;

    lock_status status{};
};

/// Asks a rate limit.
struct permits_operation : operation {
    using operation::operation;

    rate_spec_ptr limit{};
    std::uint64_t permits = 0;
    bool log_refusal = false;
    rate_verdict verdict{};
};

/// Asks a semaphore.
struct count_operation : operation {
    using operation::operation;

    count_spec_ptr of{};
    std::int64_t number = 0;  ///< that is asked for, or the answer
};

/// Asks for the note beside a lock, or writes it.
struct note_operation : operation {
    using operation::operation;

    once_note note{};
    once_answer answer{};
};

/// Asks a server anything.
struct question_operation : operation {
    using operation::operation;

    std::vector<std::string> command{};
    server_reply reply{};
    std::uint16_t hash_slot = 0;
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
    std::weak_ptr<backend> core_;
    std::uint64_t ticket_;
};

/// An ended operation on its way to its handler: calls that, or destroys it.
template <typename Operation>
class delivery {
public:
    explicit delivery(Operation* op) noexcept : op_{op} {}
    delivery(delivery&& other) noexcept : op_{std::exchange(other.op_, nullptr)} {}
    delivery& operator=(delivery&&) = delete;
    ~delivery() {
        if (op_) {
            op_->end(false);
        }
    }
    void operator()() { std::exchange(op_, nullptr)->end(true); }

private:
    Operation* op_;
};

/// The handler's, or the client's. That one is not made for a handler whose type names its own.
template <typename Handler>
auto executor_of(const Handler& handler, const core_ptr& core) noexcept {
    using association = boost::asio::associated_executor<Handler, boost::asio::any_io_executor>;
    if constexpr (requires {
                      requires std::is_same_v<typename Handler::executor_type,
                                              typename association::type>;
                  }) {
        return association::get(handler);
    } else {
        return association::get(handler, executor_of(core));
    }
}

/// `Result::take(Result::operation_type&)` makes the handler's arguments, as a tuple.
template <typename Handler, typename Result>
class handler_operation final : public Result::operation_type {
    friend class delivery<handler_operation>;
    using operation_type = typename Result::operation_type;
    using allocator = boost::asio::associated_allocator_t<Handler>;
    using executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    using self_allocator = typename rebound<allocator, handler_operation>::type;

public:
    handler_operation(const request& w, const core_ptr& c, Handler&& handler)
        : operation_type{w, &handler_operation::finish_this},
          handler_{std::move(handler)},
          work_{executor_of(handler_, c)} {
        this->core = c;
        auto slot = boost::asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) {
            const std::uint64_t own = next_ticket(c);
            this->ticket = own & last_ticket;
            slot.template emplace<cancel_handler>(c, own);
        }
    }

    static handler_operation* make(const request& what, const core_ptr& core, Handler&& handler) {
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
        if (!self->view) {
            self->core.reset();
        }
        if (deliver) {
            self->post();
        } else {
            self->end(false);
        }
    }

    void post();

    /// An event loop uses no memory of a handler before or after that is in its queue.
    void post_inside(const boost::asio::io_context::executor_type& ex) {
        ::new (static_cast<void*>(&this->posting)) posting_memory;
        boost::asio::post(
            ex, boost::asio::bind_allocator(posting_memory::allocator<void>{this->posting},
                                            delivery<handler_operation>{this}));
    }

    struct remains {
        Handler handler;
        decltype(Result::take(std::declval<operation_type&>())) arguments;
        tracked<executor> work;
        core_ptr core;
    };

    /// Frees this, then calls the handler, or destroys it.
    void end(bool call) {
        remains r = take_apart();
        if (call) {
            std::apply(std::move(r.handler), std::move(r.arguments));
        }
    }

    /// Ends the program where the handler can't be moved: its result would be lost.
    remains take_apart() noexcept {
        self_allocator alloc{boost::asio::get_associated_allocator(handler_)};
        remains r{std::move(handler_), Result::take(*this), tracked<executor>{std::move(work_)},
                  std::move(this->core)};
        this->~handler_operation();
        std::allocator_traits<self_allocator>::deallocate(alloc, this, 1);
        return r;
    }

    Handler handler_;
    tracked<executor> work_;
};

template <typename Handler, typename Result>
inline void handler_operation<Handler, Result>::post() {
    // A copy: once posted, this may be gone.
    const executor ex = work_.get_executor();
    constexpr bool inside = std::is_same_v<self_allocator, operation_allocator<handler_operation>>;
    if constexpr (inside && std::is_same_v<executor, boost::asio::any_io_executor>) {
        using context_executor = boost::asio::io_context::executor_type;
        if (const auto* const of_context = ex.template target<context_executor>()) {
            post_inside(*of_context);
            return;
        }
    }
    if constexpr (inside && std::is_same_v<executor, boost::asio::io_context::executor_type>) {
        post_inside(ex);
    } else {
        boost::asio::post(
            ex, boost::asio::bind_allocator(boost::asio::get_associated_allocator(handler_),
                                            delivery<handler_operation>{this}));
    }
}

}  // namespace conch::impl

#endif
