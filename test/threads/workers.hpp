// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_THREADS_WORKERS_HPP
#define CONCH_TEST_THREADS_WORKERS_HPP

#include "support/redis_test.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace conch::test {

/// Threads that do the same thing at the same time; joined by the destructor.
class workers {
public:
    /// Calls `work(i)` in each of `count` threads.
    template <typename Work>
    workers(std::size_t count, Work work) {
        for (std::size_t i = 0; i < count; ++i) {
            threads_.emplace_back([this, work, i] {
                try {
                    work(i);
                } catch (...) {
                    const std::lock_guard guard{mutex_};
                    failure_ = std::current_exception();
                }
            });
        }
    }
    workers(const workers&) = delete;
    workers& operator=(const workers&) = delete;
    ~workers() { end(); }

    /// Waits for the threads; throws what the last failed one threw.
    void join() {
        end();
        if (failure_) {
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

private:
    void end() {
        for (std::thread& t : threads_) {
            t.join();
        }
        threads_.clear();
    }

    std::mutex mutex_{};
    std::exception_ptr failure_{};
    std::vector<std::thread> threads_{};
};

/// A context with threads of its own, kept alive until `stop()`, `finish()` or the destructor.
class threaded_context {
public:
    explicit threaded_context(std::size_t count)
        : work_{asio::make_work_guard(io)}, threads_{count, [this](std::size_t) { io.run(); }} {}
    ~threaded_context() { stop(); }

    /// Drops what is pending.
    void stop() {
        io.stop();
        threads_.join();
    }
    /// Waits until nothing is pending.
    void finish() {
        work_.reset();
        threads_.join();
    }

    asio::io_context io{};

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    workers threads_;
};

/// The value of a future that must not take for ever.
template <typename Value>
Value in_time(std::future<Value> f) {
    if (f.wait_for(patience) != std::future_status::ready) {
        throw std::runtime_error{"a future was not ready in time"};
    }
    return f.get();
}

/// How a lock ended, and what came of it.
struct lock_result {
    error_code ec{};
    hold got{};
};

/// Locks, from a thread that runs no context.
inline std::future<lock_result> lock_from_outside(const mutex& m, const lock_options& o = {}) {
    std::promise<lock_result> told;
    std::future<lock_result> f = told.get_future();
    m.async_lock(o, [told = std::move(told)](error_code ec, hold h) mutable {
        told.set_value({ec, std::move(h)});
    });
    return f;
}

/// The same for an operation that gives no more than a code.
template <typename Start>
std::future<error_code> from_outside(Start start) {
    std::promise<error_code> told;
    std::future<error_code> f = told.get_future();
    start([told = std::move(told)](error_code ec) mutable { told.set_value(ec); });
    return f;
}

}  // namespace conch::test

#endif
