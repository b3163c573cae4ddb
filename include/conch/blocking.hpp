// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BLOCKING_HPP
#define CONCH_BLOCKING_HPP

#include <conch/client.hpp>
#include <conch/counting_semaphore.hpp>
#include <conch/hold.hpp>
#include <conch/latch.hpp>
#include <conch/lock_status.hpp>
#include <conch/lost_callback.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>
#include <conch/rate_limiter.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace conch {

namespace impl {
class blocking_core;
class blocking_state;
}  // namespace impl

/// A client for programs without an event loop: runs one on a thread of its own, which completes
/// every call. It has no other, but for those that search for hosts: see `client`.
///
/// Calls block the calling thread; made on the client's own thread (in a log sink, an observer,
/// or a handler of `async()`), where they would wait for themselves, they throw `system_error` with
/// `boost::system::errc::resource_deadlock_would_occur` instead. Thread safety: safe from any
/// thread. Blocking mutexes and holds may outlive it, and then report `errc::client_closed`; the
/// thread ends with the last blocking mutex, and drops what else was to be done on it. What a
/// handler throws there is swallowed.
///
/// Static storage: it may be a static object, and may be used by the destructors of static objects
/// that were constructed after it.
///
/// Fork: the child has no thread of an inherited client. There every call of it, and of its
/// mutexes, throws `errc::forked` at once; destructors, `exit()`, `hold::release` and the Lockable
/// `unlock()` do nothing, and the locks stay the parent's. A future of the parent stays as it was,
/// and a handler that forks on the client's own thread must not return in the child. A client made
/// in the child works.
class blocking_client {
public:
    /// Throws `std::invalid_argument` for a setting out of its range, `std::system_error` if no
    /// thread can be started. Sends nothing.
    explicit blocking_client(config settings = {});
    /// As `shutdown()`; on the client's own thread without waiting for it.
    ~blocking_client();
    blocking_client(const blocking_client&) = delete;
    blocking_client& operator=(const blocking_client&) = delete;

    /// As `client::async_shutdown`: returns when all is released, after `options.drain` and
    /// `config::response_timeout` at the latest. Calls that block elsewhere throw
    /// `errc::client_closed`. Another call finds nothing to do.
    void shutdown(const shutdown_options& options = {});

    /// The client that does the work, for asynchronous operations beside the blocking ones; its
    /// handlers run on the client's own thread. Throws in a forked child.
    client& async();

    /// As `client::stats`.
    conch::stats stats() const;
    /// As `client::last_server_error`.
    std::string last_server_error() const;
    /// As `client::last_deadlock`.
    std::string last_deadlock() const;
    /// As `client::id`.
    const std::string& id() const noexcept;

private:
    friend class blocking_mutex;
    friend class blocking_latch;
    friend class blocking_rate_limiter;
    friend class blocking_semaphore;
    std::shared_ptr<impl::blocking_core> core_;
};

/// A lock for threads, as `std::timed_mutex` but shared with other processes: works with
/// `std::unique_lock`, `std::scoped_lock` and `std::lock_guard`, or with holds.
///
/// The Lockable calls keep one hold for each thread that has the lock; who unlocks must be the
/// thread that locked. What a thread has when it ends is released with the blocking_mutex. A
/// loss interrupts no thread: give the work a `stop_token()`, ask `owns_lock()`, and protect the
/// resource with `fence()`. Thread safety: safe from any thread; copies share nothing but the lock.
class blocking_mutex {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. `options`: for all Lockable calls, whose waits are
    /// their own (`wait` counts in `lock()` alone). Sends nothing.
    /// Throws `std::invalid_argument` for a bad name or option.
    blocking_mutex(const blocking_client& redis, std::string_view name,
                   const mutex_options& kind = {}, const lock_options& options = {});
    /// The same lock as `of`, which may be a `token_mutex`, and must be of `redis.async()`.
    blocking_mutex(const blocking_client& redis, const mutex& of, const lock_options& options = {});
    ~blocking_mutex();
    blocking_mutex(const blocking_mutex&) = delete;
    blocking_mutex& operator=(const blocking_mutex&) = delete;

    // Lockable. They throw `system_error` with the errors of `mutex::async_lock`, and with
    // `resource_deadlock_would_occur` where the calling thread has this lock already.

    /// Waits until the lock is granted. Errors also: `errc::timed_out`, if the options have a
    /// `wait`.
    void lock();
    /// Tries once. False: someone else has it.
    bool try_lock();
    /// Tries for so long; rounds up. Who has had no answer by then gets 100 ms more for one that is
    /// on its way. False: timed out. Throws `errc::not_connected` if the server is away: after so
    /// long, or `config::operation_timeout` if that is sooner.
    template <typename Rep, typename Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return try_for(rounded(wait));
    }
    /// Tries until then, by that clock; the rest is as of `try_lock_for`.
    template <typename Clock, typename Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& at) {
        const auto now = Clock::now();
        return try_for(at > now ? rounded(at - now) : duration::zero());
    }
    /// Releases, and returns as `hold::async_unlock` completes.
    /// Never throws for a loss, as it is called by destructors: see `unlock_error()`. Throws
    /// `operation_not_permitted` if the calling thread doesn't have the lock. In a forked child it
    /// returns at once, and the parent keeps the lock.
    void unlock();

    /// As `hold::async_downgrade`, of the calling thread's hold of a `shared_mutex::writer()`; what
    /// `unlock()` releases is a reader then. Throws `system_error` with its errors, and
    /// `operation_not_permitted` as `unlock()`.
    void downgrade();

    // Of the calling thread's hold by the Lockable calls.

    /// As `hold::owns_lock`; false if the thread has not locked.
    bool owns_lock() const noexcept;
    /// As `hold::valid_until`; the epoch if the thread has not locked.
    time_point valid_until() const noexcept;
    /// As `hold::fence`; 0 if the thread has not locked.
    std::uint64_t fence() const noexcept;
    /// As `hold::progress`, for `lock_options::progress_within` of the Lockable calls; does nothing
    /// if the thread has not locked, and in a forked child.
    void progress() const noexcept;
    /// As `hold::stop_token`; stopped if the thread has not locked, and in a forked child.
    [[nodiscard]] std::stop_token stop_token(duration before = duration::zero()) const;
    /// What the calling thread's last `unlock()` of this mutex found: no error, or why the lock had
    /// been lost before (errors of `hold::async_unlock`). In a forked child `errc::forked`.
    error_code unlock_error() const noexcept;

    // Holds: not bound to a thread.

    /// As `mutex::async_lock`. Throws `system_error` with its errors.
    hold acquire(const lock_options& options = {});
    /// As `mutex::async_try_lock`. An empty hold: busy or timed out.
    hold try_acquire(const lock_options& options = {});
    /// As `hold::async_unlock`. Throws `system_error` with its errors.
    void unlock(hold& h);
    /// As `hold::async_downgrade`. Throws `system_error` with its errors.
    void downgrade(hold& h);
    /// As `acquire`, at once; the future has the hold, or its error. Not waiting for the future
    /// leaves a hold that is released with it. Its `get()` must not be called on the client's own
    /// thread (handlers of `blocking_client::async()`, log sink, observer): that waits for itself.
    std::future<hold> acquire_future(const lock_options& options = {});

    /// As `mutex::async_status`.
    lock_status status(const status_options& options = {});
    /// As `mutex::async_force_unlock`.
    bool force_unlock();

    /// The Redis key; lives as long as this mutex.
    std::string_view name() const noexcept;

private:
    template <typename Rep, typename Period>
    static duration rounded(const std::chrono::duration<Rep, Period>& d) {
        if (d <= d.zero()) {
            return duration::zero();
        }
        // Beyond what a duration can say: as long as it takes.
        if (std::chrono::duration<double>{d} >= std::chrono::duration<double>{forever}) {
            return forever;
        }
        return std::chrono::ceil<duration>(d);
    }
    bool try_for(duration wait);
    /// The calling thread's hold; throws if it has none.
    hold take();

    std::shared_ptr<impl::blocking_core> core_;
    mutex mutex_;
    lock_options options_;
    std::unique_ptr<impl::blocking_state> state_;
};

/// A `counting_semaphore` for threads: each call blocks until the one of the same name there
/// completes, and throws `system_error` with its errors. Thread safety: safe from any thread.
class blocking_semaphore {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name.
    blocking_semaphore(const blocking_client& redis, std::string_view name);

    /// As `counting_semaphore::async_acquire`.
    void acquire(std::int64_t permits = 1, const wait_options& options = {});
    /// As `counting_semaphore::async_try_acquire`: false if they are not granted now.
    bool try_acquire(std::int64_t permits = 1);
    /// As `counting_semaphore::async_release`.
    void release(std::int64_t permits = 1);
    /// As `counting_semaphore::async_add`: a negative number takes permits away.
    void add(std::int64_t permits);
    /// As `counting_semaphore::async_set`.
    void set(std::int64_t permits);
    /// As `counting_semaphore::async_try_set`: false if they were set before.
    bool try_set(std::int64_t permits);
    /// As `counting_semaphore::async_drain`: how many were taken.
    std::int64_t drain();
    /// As `counting_semaphore::async_available`: how many are left.
    std::int64_t available();

    /// The Redis key; lives as long as this semaphore.
    std::string_view name() const noexcept;

private:
    std::shared_ptr<impl::blocking_core> core_;
    counting_semaphore semaphore_;
};

/// A `latch` for threads: each call blocks until the one of the same name there completes, and
/// throws `system_error` with its errors. Thread safety: safe from any thread.
class blocking_latch {
public:
    /// As `latch`. Sends nothing. Throws `std::invalid_argument` for a bad name.
    blocking_latch(const blocking_client& redis, std::string_view name);

    /// As `latch::async_try_set_count`: false if the count is above zero.
    bool try_set_count(std::int64_t count);
    /// As `latch::async_count_down`.
    void count_down(std::int64_t by = 1);
    /// As `latch::async_wait`.
    void wait(const wait_options& options = {});
    /// As `latch::async_count`.
    std::int64_t count();

    /// The Redis key; lives as long as this latch.
    std::string_view name() const noexcept;

private:
    std::shared_ptr<impl::blocking_core> core_;
    latch latch_;
};

/// A `rate_limiter` for threads: each call blocks until the one of the same name there completes,
/// and throws `system_error` with its errors. Thread safety: safe from any thread.
class blocking_rate_limiter {
public:
    /// As `rate_limiter`. Sends nothing. Throws `std::invalid_argument` for a bad name, limit,
    /// window or burst.
    blocking_rate_limiter(const blocking_client& redis, std::string_view name, const rate& allowed,
                          rate_algorithm algorithm = rate_algorithm::sliding_log);

    /// As `rate_limiter::async_try_acquire`: asks once; a refusal is an answer.
    rate_verdict try_acquire(std::int64_t permits = 1);
    /// As `rate_limiter::async_acquire`: returns when the permits are granted.
    template <std::integral Permits>
    rate_verdict acquire(Permits permits, const rate_options& options = {}) {
        return wait_for(impl::permit_number(permits), options);
    }
    /// The same for one permit: `acquire({.wait = 5s})`.
    rate_verdict acquire(const rate_options& options = {}) { return acquire(1, options); }

    /// The Redis key; lives as long as this limiter.
    std::string_view name() const noexcept;

private:
    rate_verdict wait_for(std::uint64_t permits, const rate_options& options);

    std::shared_ptr<impl::blocking_core> core_;
    rate_limiter limiter_;
};

}  // namespace conch

#endif
