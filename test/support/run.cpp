// SPDX-License-Identifier: BSL-1.0
#include "support/run.hpp"

#include <boost/asio/co_spawn.hpp>

#include <stdexcept>
#include <string>

namespace conch::test {
namespace {

using steady = std::chrono::steady_clock;

std::string late(std::chrono::milliseconds limit) {
    return " was not done within " + std::to_string(limit.count()) + " ms";
}

}  // namespace

void run_test(asio::io_context& io, asio::awaitable<void> body, std::chrono::milliseconds limit) {
    struct outcome {
        bool done = false;
        std::exception_ptr failure{};
    };
    const auto result = std::make_shared<outcome>();
    asio::co_spawn(io, std::move(body), [result](std::exception_ptr failure) {
        result->done = true;
        result->failure = failure;
    });
    const auto end = steady::now() + limit;
    if (io.stopped()) {
        io.restart();
    }
    while (!result->done && steady::now() < end) {
        io.run_one_until(end);
        if (!result->done && io.stopped()) {
            throw std::runtime_error{"the test's coroutine waits for what will never happen"};
        }
    }
    if (!result->done) {
        throw std::runtime_error{"the test's coroutine" + late(limit)};
    }
    if (result->failure) {
        std::rethrow_exception(result->failure);
    }
}

void run_to_end(asio::io_context& io, std::chrono::milliseconds limit) {
    const auto end = steady::now() + limit;
    if (io.stopped()) {
        io.restart();
    }
    while (steady::now() < end) {
        io.run_one_until(end);
        if (io.stopped()) {
            return;
        }
    }
    throw std::runtime_error{"io_context::run()" + late(limit)};
}

std::size_t step(asio::io_context& io, std::size_t count, std::chrono::milliseconds idle) {
    std::size_t done = 0;
    if (io.stopped()) {
        io.restart();
    }
    const auto work = asio::make_work_guard(io);
    while (done < count) {
        if (io.run_one_for(idle) == 0) {
            break;
        }
        ++done;
    }
    return done;
}

task_group::task_group(asio::any_io_executor executor)
    : executor_{std::move(executor)}, state_{std::make_shared<state>(executor_)} {
    state_->done.expires_at(steady::time_point::max());
}

void task_group::spawn(asio::awaitable<void> body) {
    ++state_->running;
    asio::co_spawn(executor_, std::move(body), [s = state_](std::exception_ptr failure) {
        if (failure && !s->failure) {
            s->failure = failure;
        }
        if (--s->running == 0) {
            s->done.cancel();
        }
    });
}

asio::awaitable<void> task_group::join() { return join(state_); }

asio::awaitable<void> task_group::join(std::shared_ptr<state> s) {
    while (s->running > 0) {
        co_await s->done.async_wait(as_result);
    }
    if (s->failure) {
        std::rethrow_exception(s->failure);
    }
}

}  // namespace conch::test
