// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_BLOCKING_CORE_HPP
#define CONCH_SRC_API_BLOCKING_CORE_HPP

#include <conch/client.hpp>
#include <conch/hold.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace conch::impl {

/// An event loop on a thread of its own, with a client on it. Goes on until the last handle is
/// gone, so that a call on a closed client is answered by it.
class blocking_core {
public:
    explicit blocking_core(config settings);
    blocking_core(const blocking_core&) = delete;
    blocking_core& operator=(const blocking_core&) = delete;
    /// Shuts down, and waits for the thread; not if this is it.
    ~blocking_core();

    /// Returns when it is done; at once on the client's own thread.
    void shutdown(const shutdown_options& options);
    /// Throws if this is the client's own thread.
    void may_block() const;
    client& redis() noexcept { return loop_->redis; }

private:
    struct loop {
        explicit loop(config settings);
        void run() noexcept;

        boost::asio::io_context io{1};
        boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
        client redis;
    };
    bool on_own_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

    std::shared_ptr<loop> loop_;  // the thread has it too
    std::thread thread_;
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
