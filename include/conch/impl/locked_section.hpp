// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_LOCKED_SECTION_HPP
#define CONCH_IMPL_LOCKED_SECTION_HPP

#include <conch/impl/section_guard.hpp>
#include <conch/impl/tracked.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

// The typed part of conch::with_lock: how its body is started and its result handed back. All but
// `typed_body` depends on the result's type alone, so that another body costs little to compile.
namespace conch::impl {

template <typename Other>
struct awaited {
    static_assert(!std::is_same_v<Other, Other>,
                  "conch::with_lock: the body must return boost::asio::awaitable<T>; without "
                  "coroutines, use mutex::async_lock");
    using type = Other;
};
template <typename T, typename Executor>
struct awaited<boost::asio::awaitable<T, Executor>> {
    static_assert(std::is_same_v<Executor, boost::asio::any_io_executor>,
                  "conch::with_lock: the body must return boost::asio::awaitable<T>");
    using type = T;
};

/// Also by GCC before 12.3, where the body is written into an expression with co_await.
template <typename Body>
inline constexpr bool destroyed_once =
#if defined(__GNUC__) && !defined(__clang__) && \
    (__GNUC__ < 12 || (__GNUC__ == 12 && __GNUC_MINOR__ < 3))
    std::is_lvalue_reference_v<Body> || std::is_trivially_destructible_v<Body>;
#else
    true;
#endif

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

template <typename T>
struct section_body {
    virtual ~section_body() = default;
    /// `by`: the section that runs it, if one does.
    virtual boost::asio::awaitable<T> start(hold& h, section_guard* by) = 0;
};

/// The base of a body of ours that is called with its section as well.
struct knows_section {};

template <typename T>
using body_ptr = std::unique_ptr<section_body<T>>;

template <typename T, typename Body>
class typed_body final : public section_body<T> {
public:
    template <typename B>
    explicit typed_body(B&& body) : body_(std::forward<B>(body)) {}
    boost::asio::awaitable<T> start(hold& h, [[maybe_unused]] section_guard* by) override {
        if constexpr (std::is_base_of_v<knows_section, Body>) {
            return body_(h, *by);
        } else {
            using started = decltype(start_section(body_, h));
            if constexpr (std::is_same_v<started, boost::asio::awaitable<T>>) {
                return start_section(body_, h);
            } else {
                return {};  // `awaited` has refused it, in one error
            }
        }
    }

private:
    Body body_;
};

/// The result of the body, until the lock is released.
template <typename T>
class section_value : public section_guard {
    static_assert(std::is_default_constructible_v<T> && std::is_move_assignable_v<T>,
                  "conch: the result of a body or guarded function must be default constructible "
                  "and move assignable");

public:
    using signature = void(std::exception_ptr, T);

    void ended(std::exception_ptr error, T value) {
        try {
            value_ = std::move(value);
        } catch (...) {
            error = std::current_exception();
        }
        body_ended(std::move(error));
    }

protected:
    using section_guard::section_guard;
    template <typename Handler>
    void hand_over(Handler& handler, std::exception_ptr error) {
        std::move(handler)(std::move(error), std::move(value_));
    }

private:
    T value_{};
};
template <>
class section_value<void> : public section_guard {
public:
    using signature = void(std::exception_ptr);

    void ended(std::exception_ptr error) { body_ended(std::move(error)); }

protected:
    using section_guard::section_guard;
    template <typename Handler>
    void hand_over(Handler& handler, std::exception_ptr error) {
        std::move(handler)(std::move(error));
    }
};

template <typename T, typename Handler>
class locked_section final : public section_value<T> {
    using executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

public:
    locked_section(const mutex& m, const section_terms& terms, boost::asio::any_io_executor ex,
                   body_ptr<T> body, Handler&& handler)
        : section_value<T>{m, terms, ex},
          body_{std::move(body)},
          handler_{std::move(handler)},
          work_{boost::asio::get_associated_executor(handler_, ex)} {}

    auto callers_slot() const noexcept {
        return boost::asio::get_associated_cancellation_slot(handler_);
    }

private:
    void start_body() override {
        auto self = std::static_pointer_cast<locked_section>(this->shared_from_this());
        boost::asio::co_spawn(this->strand(), body_->start(this->held(), this),
                              boost::asio::bind_cancellation_slot(
                                  this->body_slot(), [self]<typename... Result>(Result&&... r) {
                                      self->ended(std::forward<Result>(r)...);
                                  }));
    }

    void complete(std::exception_ptr error) override {
        const executor ex = work_.get_executor();
        auto self = std::static_pointer_cast<locked_section>(this->shared_from_this());
        boost::asio::post(ex, [self, error]() mutable {
            const tracked<executor> work{std::move(self->work_)};
            Handler handler{std::move(self->handler_)};
            self->body_.reset();  // what it captured is free when the caller goes on
            self->hand_over(handler, std::move(error));
        });
    }

    body_ptr<T> body_;
    Handler handler_;
    tracked<executor> work_;
};

/// Where a body runs: where its handler does; a handler that would run on the system's threads, as
/// that of a future, says nothing of that.
template <typename Handler>
boost::asio::any_io_executor executor_of_body(const Handler& handler,
                                              const boost::asio::any_io_executor& otherwise) {
    const auto of_handler = boost::asio::get_associated_executor(handler, otherwise);
    if constexpr (std::constructible_from<boost::asio::any_io_executor, decltype(of_handler)>) {
        boost::asio::any_io_executor ex{of_handler};
        const boost::asio::system_executor of_system;
        const bool somewhere = &boost::asio::query(ex, boost::asio::execution::context) !=
                               &boost::asio::query(of_system, boost::asio::execution::context);
        return somewhere ? ex : otherwise;
    } else {
        return otherwise;
    }
}

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
template <typename T>
class initiate_section {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_; }

    initiate_section(const mutex& m, const section_terms& terms, boost::asio::any_io_executor ex,
                     body_ptr<T> body)
        : mutex_{m}, terms_{terms}, executor_{std::move(ex)}, body_{std::move(body)} {}

    template <typename Handler>
    void operator()(Handler&& handler) {
        boost::asio::any_io_executor ex = executor_of_body(handler, executor_);
        auto section = std::make_shared<locked_section<T, std::decay_t<Handler>>>(
            mutex_, terms_, std::move(ex), std::move(body_),
            std::decay_t<Handler>(std::forward<Handler>(handler)));
        section->start(section->callers_slot());
    }

private:
    mutex mutex_;
    section_terms terms_;
    boost::asio::any_io_executor executor_;
    body_ptr<T> body_;
};

template <typename T>
boost::asio::awaitable<T> run_locked_section(mutex m, section_terms terms, body_ptr<T> body) {
    const boost::asio::any_io_executor ex = co_await boost::asio::this_coro::executor;
    initiate_section<T> initiation{m, terms, ex, std::move(body)};
    co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>,
                                                   typename section_value<T>::signature>(
        std::move(initiation), boost::asio::use_awaitable);
}

extern template boost::asio::awaitable<void> run_locked_section<void>(mutex, section_terms,
                                                                      body_ptr<void>);

}  // namespace conch::impl

#endif
