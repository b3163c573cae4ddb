// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_MUTEX_HPP
#define CONCH_MUTEX_HPP

#include <conch/client.hpp>
#include <conch/hold.hpp>
#include <conch/lock_status.hpp>
#include <conch/options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace conch {

/// A lock of one name that many processes share: Redisson's `RLock` (or `RFencedLock`, if fenced)
/// on the wire, so a Java service with the same name excludes and wakes this one, and vice versa.
///
/// A cheap, copyable handle: copies, and other mutexes of the same name and client, are the same
/// lock. Thread safety: safe from any thread, one object too.
class mutex {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name or option.
    mutex(const client& redis, std::string_view name, const mutex_options& options = {});

    /// Waits until the lock is granted. Keep the hold: its destructor releases the lock. It is
    /// never empty: a timeout is `errc::timed_out`.
    ///
    /// Completion signature: `void(error_code, hold)`. Executor: the handler's associated executor,
    /// by default the client's; the handler never runs inside this call.
    /// Errors: `errc::timed_out`, `errc::invalid_*` (nothing is sent), `errc::not_replicated`,
    /// `errc::not_connected`, `errc::client_closed`, `errc::overloaded`, and the server's errors.
    /// With an owner: the loss of the outer hold, as `errc::lock_lost` or `errc::lease_expired`.
    /// Cancellation (terminal, partial, total): the caller gets `operation_aborted` at once; if the
    /// server grants the lock nevertheless, the next local waiter gets it, or it is released.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_lock(const lock_options& options = {}, Token&& token = Token{}) const {
        return impl::async_acquire<hold>(impl::request::lock, core_, spec_, options,
                                         std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_lock(Token&& token) const {
        return async_lock(lock_options{}, std::forward<Token>(token));
    }

    /// Tries, for as long as `options.wait` (default: once). An empty hold: busy or timed out, with
    /// no error. Everything else as `async_lock`. A try without wait that finds local waiters or a
    /// local hold is answered without asking the server.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_lock(const lock_options& options = {},
                                      Token&& token = Token{}) const {
        return impl::async_acquire<hold>(impl::request::try_lock, core_, spec_, options,
                                         std::forward<Token>(token));
    }

    /// The same with the default options: once.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_try_lock(Token&& token) const {
        return async_try_lock(lock_options{}, std::forward<Token>(token));
    }

    /// Asks the server who holds the lock. Parameter: what else to ask, nothing by default; what
    /// the server refuses or does not answer of that is left out.
    ///
    /// Completion signature: `void(error_code, lock_status)`. Executor: as `async_lock`. Errors:
    /// `errc::not_connected`, `errc::client_closed`, `errc::overloaded`, the server's. Cancellation
    /// (terminal, partial, total): `operation_aborted`, but none if only what else was asked is not
    /// answered yet.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_status(const status_options& options, Token&& token = Token{}) const {
        return impl::async_status(core_, spec_, options, std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, const status_options&>)
    [[nodiscard]] auto async_status(Token&& token = Token{}) const {
        return async_status(status_options{}, std::forward<Token>(token));
    }

    /// Takes the lock away from whoever holds it: reads the holder, then releases exactly that
    /// holder. True if there was one. A former holder of conch finds out at its next renewal (or
    /// check, if it isn't renewed), which is a third of its lease away at most. If its client has
    /// waiters for the lock, it finds out at once; of a `fair_mutex`, when one of them is granted
    /// it. Until then it believes that it has the lock. Holders between which it passed with no
    /// word to the server are one holder to it.
    ///
    /// Completion signature: `void(error_code, bool)`. Executor, errors, cancellation: as
    /// `async_status`; a cancelled call may still take effect.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_force_unlock(Token&& token = Token{}) const {
        return impl::async_force_unlock(core_, spec_, std::forward<Token>(token));
    }

    /// The name that it was made with; lives as long as this mutex or a copy of it.
    std::string_view name() const noexcept;
    /// For messages: `lock "orders:7" at redis://10.0.0.5:6379`, of a quorum with each server. What
    /// a completion token throws has the error alone.
    std::string label() const;

protected:
    /// Of another kind: see `token_mutex` and `fair_mutex`.
    mutex(const client& redis, impl::spec_ptr spec);
    /// Of several servers or several locks: see `quorum_mutex` and `multi_lock`.
    mutex(impl::core_ptr core, impl::spec_ptr spec) noexcept;

private:
    friend class impl::mutex_source;
    friend class impl::section_guard;
    friend class leader;
    friend class multi_lock;
    friend class once;
    friend class semaphore;
    friend class shared_mutex;

    impl::core_ptr core_;
    impl::spec_ptr spec_;
};

}  // namespace conch

#endif
