// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_BLOCKING_CORE_HPP
#define CONCH_SRC_API_BLOCKING_CORE_HPP

#include "driver/home_process.hpp"

#include <conch/client.hpp>
#include <conch/hold.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace conch::impl {

/// An event loop on a thread of its own, with a client on it. Goes on until the last handle is
/// gone, so that a call on a closed client is answered by it. In a forked child there is no such
/// thread, and what it shares may be half written or locked for ever: nothing of it is used there.
class blocking_core {
public:
    explicit blocking_core(config settings);
    blocking_core(const blocking_core&) = delete;
    blocking_core& operator=(const blocking_core&) = delete;
    /// Shuts down, and waits for the thread; not if this is it.
    ~blocking_core();

    /// Returns when it is done; at once on the client's own thread, and in a forked child.
    void shutdown(const shutdown_options& options);
    /// Throws if this is the client's own thread, or a forked child.
    void may_block() const;
    bool forked() const noexcept { return home_.left(); }
    /// Throws in a forked child.
    client& redis() const;
    const std::string& id() const noexcept { return loop_->redis.id(); }

    /// A handler that runs on the client's own thread.
    template <typename F>
    auto handler(F f) const {
        return boost::asio::bind_executor(loop_->io.get_executor(), std::move(f));
    }
    /// Gives `start` the handler of one operation, and waits for what comes to it: throws its
    /// error, returns the rest. Where it is dropped, the client is closed.
    template <typename... Result, typename Start>
    auto ask(Start start) const;

private:
    struct loop {
        explicit loop(config settings);
        void run() noexcept;

        boost::asio::io_context io{1};
        boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
        client redis;
        std::thread thread{};
    };
    bool on_own_thread() const noexcept {
        return std::this_thread::get_id() == loop_->thread.get_id();
    }
    template <typename Answer>
    static Answer wait(std::future<Answer> answer);

    const home_process home_{};
    // The thread has it too, and keeps it for ever where there is none.
    std::shared_ptr<loop> loop_;
};

template <typename Answer>
Answer blocking_core::wait(std::future<Answer> answer) {
    try {
        return answer.get();
    } catch (const std::future_error&) {
        throw system_error{errc::client_closed};
    }
}

template <typename... Result, typename Start>
auto blocking_core::ask(Start start) const {
    may_block();
    std::promise<std::tuple<error_code, Result...>> promise;
    auto future = promise.get_future();
    start(handler([p = std::move(promise)](error_code ec, Result... r) mutable {
        p.set_value({ec, std::move(r)...});
    }));
    auto answer = wait(std::move(future));
    if (std::get<0>(answer)) {
        throw system_error{std::get<0>(answer)};
    }
    if constexpr (sizeof...(Result) == 1) {
        return std::get<1>(std::move(answer));
    }
}

/// The holds of the threads that have one blocking mutex.
class blocking_state {
public:
    /// False if this thread has one.
    bool may_lock() const;
    void keep(hold h);
    /// The calling thread's hold; empty if it has none.
    hold take();
    template <typename Look>
    auto look(Look&& at) const {
        const std::lock_guard guard{mutex_};
        const entry* e = find();
        const hold none{};
        return at(e ? e->held : none);
    }
    void unlocked(error_code ec);
    error_code unlock_error() const;

private:
    struct entry {
        std::uint64_t thread;
        hold held;
    };
    struct ended {
        std::uint64_t thread;
        error_code why;
    };
    const entry* find() const noexcept;

    mutable std::mutex mutex_{};
    std::vector<entry> held_{};
    std::vector<ended> failed_{};
};

}  // namespace conch::impl

#endif
