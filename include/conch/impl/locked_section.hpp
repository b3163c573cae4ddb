// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_LOCKED_SECTION_HPP
#define CONCH_IMPL_LOCKED_SECTION_HPP

#include <conch/impl/section_guard.hpp>
#include <conch/impl/tracked.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

// The typed part of conch::with_lock: how its body is started and its result handed back.
namespace conch::impl {

template <typename Awaitable>
struct awaited;
template <typename T, typename Executor>
struct awaited<boost::asio::awaitable<T, Executor>> {
    static_assert(std::is_same_v<Executor, boost::asio::any_io_executor>,
                  "conch::with_lock: the body must return boost::asio::awaitable<T>");
    static_assert(std::is_void_v<T> || std::is_default_constructible_v<T>,
                  "conch::with_lock: the result of the body must be default constructible");
    using type = T;
};

template <typename Body>
auto start_section(Body& body, hold& h) {
    if constexpr (std::invocable<Body&, hold&>) {
        return std::invoke(body, h);
    } else {
        static_assert(std::invocable<Body&>,
                      "conch::with_lock: the body must be callable as body(hold&) or body()");
        return std::invoke(body);
    }
}

template <typename Body>
using section_result =
    typename awaited<decltype(start_section(std::declval<Body&>(), std::declval<hold&>()))>::type;

/// A result of the body until the lock is released.
template <typename T>
struct section_value {
    T value{};
    template <typename Handler>
    void hand_over(Handler&& handler, std::exception_ptr error) {
        std::forward<Handler>(handler)(std::move(error), std::move(value));
    }
};
template <>
struct section_value<void> {
    template <typename Handler>
    void hand_over(Handler&& handler, std::exception_ptr error) {
        std::forward<Handler>(handler)(std::move(error));
    }
};

template <typename Body, typename Handler>
class locked_section final : public section_guard {
    using result = section_result<Body>;
    using executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

public:
    locked_section(const mutex& m, const lock_options& options, boost::asio::any_io_executor ex,
                   Body&& body, Handler&& handler)
        : section_guard{m, options, ex},
          body_{std::move(body)},
          handler_{std::move(handler)},
          work_{boost::asio::get_associated_executor(handler_, ex)} {}

    auto callers_slot() const noexcept {
        return boost::asio::get_associated_cancellation_slot(handler_);
    }

private:
    void start_body() override {
        auto self = std::static_pointer_cast<locked_section>(shared_from_this());
        auto running = start_section(body_, held());
        if constexpr (std::is_void_v<result>) {
            boost::asio::co_spawn(
                strand(), std::move(running),
                boost::asio::bind_cancellation_slot(
                    body_slot(), [self](std::exception_ptr e) { self->body_ended(std::move(e)); }));
        } else {
            boost::asio::co_spawn(strand(), std::move(running),
                                  boost::asio::bind_cancellation_slot(
                                      body_slot(), [self](std::exception_ptr e, result value) {
                                          self->value_.value = std::move(value);
                                          self->body_ended(std::move(e));
                                      }));
        }
    }

    void complete(std::exception_ptr error) override {
        const executor ex = work_.get_executor();
        boost::asio::post(ex, [self = shared_from_this(), this, error]() mutable {
            const tracked<executor> work{std::move(work_)};
            Handler handler{std::move(handler_)};
            section_value<result> value{std::move(value_)};
            self.reset();
            value.hand_over(std::move(handler), std::move(error));
        });
    }

    Body body_;
    Handler handler_;
    tracked<executor> work_;
    section_value<result> value_{};
};

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
template <typename Body>
class initiate_section {
public:
    initiate_section(const mutex& m, const lock_options& options, boost::asio::any_io_executor ex,
                     Body&& body)
        : mutex_{m}, options_{options}, executor_{std::move(ex)}, body_{std::move(body)} {}

    template <typename Handler>
    void operator()(Handler&& handler) {
        auto section = std::make_shared<locked_section<Body, std::decay_t<Handler>>>(
            mutex_, options_, executor_, std::move(body_), std::forward<Handler>(handler));
        section->start(section->callers_slot());
    }

private:
    mutex mutex_;
    lock_options options_;
    boost::asio::any_io_executor executor_;
    Body body_;
};

template <typename Body>
boost::asio::awaitable<section_result<Body>> run_locked_section(mutex m, lock_options options,
                                                                Body body) {
    using result = section_result<Body>;
    const boost::asio::any_io_executor ex = co_await boost::asio::this_coro::executor;
    initiate_section<Body> initiation{m, options, ex, std::move(body)};
    if constexpr (std::is_void_v<result>) {
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                             void(std::exception_ptr)>(std::move(initiation),
                                                                       boost::asio::use_awaitable);
    } else {
        co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                                       void(std::exception_ptr, result)>(
            std::move(initiation), boost::asio::use_awaitable);
    }
}

}  // namespace conch::impl

#endif
