// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RUN_HPP
#define CONCH_TEST_SUPPORT_RUN_HPP

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace conch::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// No test waits longer than this for anything, unless it says so.
inline constexpr std::chrono::seconds patience{20};

/// The completion token that gives `(error_code, ...)` instead of throwing:
/// `auto [ec, h] = co_await m.async_lock({}, as_result);`
inline constexpr asio::as_tuple_t<asio::deferred_t> as_result{asio::deferred_t{}};

/// Runs the context until the coroutine is done. What the coroutine throws is thrown; so is a
/// `std::runtime_error` if it takes longer than `limit`, or if nothing is left that could resume
/// it. It is then destroyed with the context, and must not touch what dies earlier.
void run_test(asio::io_context& io, asio::awaitable<void> body,
              std::chrono::milliseconds limit = patience);

/// Runs the context until it has nothing left to do: `run()` would return. Throws after `limit`.
void run_to_end(asio::io_context& io, std::chrono::milliseconds limit = patience);

/// Runs at most `count` handlers; fewer if none becomes ready for `idle`. How many were run.
std::size_t step(asio::io_context& io, std::size_t count, std::chrono::milliseconds idle = 100ms);

/// Runs the context until `condition()`; false if it did not come true within `limit`.
template <typename Condition>
bool run_until(asio::io_context& io, Condition condition,
               std::chrono::milliseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    const auto work = asio::make_work_guard(io);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        step(io, 1, std::chrono::milliseconds{2});
    }
    return true;
}

/// Lets time pass, for a behaviour that is about time; never to wait for an event.
inline asio::awaitable<void> pass(std::chrono::milliseconds time) {
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

/// Waits for what can only be seen by looking: true as soon as `condition()`, false if it did not
/// come true within `limit`.
template <typename Condition>
asio::awaitable<bool> when(Condition condition, std::chrono::milliseconds limit = patience / 2) {
    const auto end = std::chrono::steady_clock::now() + limit;
    asio::steady_timer timer{co_await asio::this_coro::executor};
    for (;;) {
        if (condition()) {
            co_return true;
        }
        if (std::chrono::steady_clock::now() > end) {
            co_return false;
        }
        timer.expires_after(std::chrono::milliseconds{2});
        co_await timer.async_wait(asio::deferred);
    }
}

/// Coroutines that run at the same time on one thread. Closures that they come from must live
/// until `join()` is done.
class task_group {
public:
    explicit task_group(asio::any_io_executor executor);

    void spawn(asio::awaitable<void> body);
    /// Completes when every coroutine spawned is done; throws what the first failed one threw.
    asio::awaitable<void> join();
    std::size_t running() const noexcept { return state_->running; }

private:
    struct state {
        explicit state(const asio::any_io_executor& executor) : done{executor} {}
        std::size_t running = 0;
        std::exception_ptr failure{};
        asio::steady_timer done;
    };
    static asio::awaitable<void> join(std::shared_ptr<state> s);

    asio::any_io_executor executor_;
    std::shared_ptr<state> state_;
};

}  // namespace conch::test

#endif
