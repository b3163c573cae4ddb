// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_BLOCKING_CORE_HPP
#define CONCH_SRC_API_BLOCKING_CORE_HPP

#include <conch/client.hpp>
#include <conch/hold.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace conch::impl {

/// An event loop on a thread of its own, with a client on it. The thread keeps it alive.
class blocking_core : public std::enable_shared_from_this<blocking_core> {
public:
    explicit blocking_core(config settings);
    blocking_core(const blocking_core&) = delete;
    blocking_core& operator=(const blocking_core&) = delete;

    void start();
    void shutdown(const shutdown_options& options);
    /// Throws if this is the client's own thread.
    void may_block() const;
    bool on_own_thread() const noexcept {
        return thread_id_.load(std::memory_order_acquire) == std::this_thread::get_id();
    }
    client& redis() noexcept { return redis_; }

private:
    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    client redis_;
    std::atomic<std::thread::id> thread_id_{};
    std::mutex ending_{};
    std::thread thread_{};
};

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
        std::thread::id thread;
        hold held;
    };
    struct ended {
        std::thread::id thread;
        error_code why;
    };
    const entry* find() const noexcept;

    mutable std::mutex mutex_{};
    std::vector<entry> held_{};
    std::vector<ended> failed_{};
};

}  // namespace conch::impl

#endif
