// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_EVENT_LOOP_HPP
#define CONCH_BENCH_EVENT_LOOP_HPP

#include "interruption.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

namespace conch::bench {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

inline double microseconds(steady::duration d) {
    return std::chrono::duration<double, std::micro>{d}.count();
}

/// One thread's event loop. What is measured runs in `io_context::run()`, as a user's program does:
/// its siblings that run one handler give Asio no chance to recycle the memory of handlers. A slow
/// tick makes sure that an interruption is noticed.
class event_loop {
public:
    event_loop() { tick(); }

    asio::io_context& context() noexcept { return context_; }

    /// Runs handlers until one of them calls `stop()`.
    void run() {
        context_.restart();
        context_.run();
        throw_if_interrupted();
    }
    void stop() { context_.stop(); }

    /// Runs handlers until `condition()`, for what is only to be seen by looking, every now and
    /// then.
    template <typename Condition>
    void run_until(Condition condition) {
        while (!condition()) {
            run_until(steady::now() + between_looks);
        }
    }

    void run_until(steady::time_point end) {
        asio::steady_timer timer{context_, end};
        timer.async_wait([this](const boost::system::error_code& ec) {
            if (!ec) {
                stop();
            }
        });
        run();
    }

    /// Starts it. What it throws ends the program.
    void spawn(asio::awaitable<void> body) {
        ++spawned_;
        asio::co_spawn(context_, std::move(body), [this](const std::exception_ptr& failure) {
            if (failure) {
                std::rethrow_exception(failure);
            }
            if (--spawned_ == 0) {
                stop();
            }
        });
    }
    /// Runs handlers until all that was spawned has ended.
    void run_spawned() { run(); }

private:
    static constexpr std::chrono::microseconds between_looks{200};

    void tick() {
        ticks_.expires_after(std::chrono::milliseconds{100});
        ticks_.async_wait([this](const boost::system::error_code& ec) {
            throw_if_interrupted();
            if (!ec) {
                tick();
            }
        });
    }

    asio::io_context context_{1};
    asio::steady_timer ticks_{context_};
    std::size_t spawned_ = 0;
};

}  // namespace conch::bench

#endif
