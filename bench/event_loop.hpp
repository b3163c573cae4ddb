// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_EVENT_LOOP_HPP
#define CONCH_BENCH_EVENT_LOOP_HPP

#include "interruption.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace conch::bench {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

inline double microseconds(steady::duration d) {
    return std::chrono::duration<double, std::micro>{d}.count();
}

/// One thread's event loop. A slow tick makes sure that an interruption is noticed.
class event_loop {
public:
    event_loop() { tick(); }

    asio::io_context& context() noexcept { return context_; }

    /// Runs handlers until `condition()`.
    template <typename Condition>
    void run_until(Condition condition) {
        while (!condition()) {
            context_.run_one();
            throw_if_interrupted();
        }
    }

    /// The same; false if it did not come true by then.
    template <typename Condition>
    bool run_until(Condition condition, steady::time_point limit) {
        while (!condition()) {
            if (steady::now() >= limit) {
                return false;
            }
            context_.run_one_until(limit);
            throw_if_interrupted();
        }
        return true;
    }

    void run_for(steady::duration time) {
        run_until([] { return false; }, steady::now() + time);
    }

    /// Starts it; `running` counts it until its end. What it throws ends the program.
    void spawn(asio::awaitable<void> body, std::size_t& running) {
        ++running;
        asio::co_spawn(context_, std::move(body), [&running](const std::exception_ptr& failure) {
            if (failure) {
                std::rethrow_exception(failure);
            }
            --running;
        });
    }

private:
    void tick() {
        ticks_.expires_after(std::chrono::milliseconds{100});
        ticks_.async_wait([this](const boost::system::error_code& ec) {
            if (!ec) {
                tick();
            }
        });
    }

    asio::io_context context_{1};
    asio::steady_timer ticks_{context_};
};

}  // namespace conch::bench

#endif
