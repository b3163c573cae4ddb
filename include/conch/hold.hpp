// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_HOLD_HPP
#define CONCH_HOLD_HPP

#include <conch/clock.hpp>
#include <conch/error.hpp>
#include <conch/impl/initiate.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstdint>
#include <stop_token>
#include <utility>

namespace conch {

namespace impl {
struct loss;
}

/// One acquisition of a lock, and the duty to release it. Move-only; the destructor releases in
/// the background, so keep it for as long as the lock is needed: `co_await m.async_lock();` as a
/// statement of its own holds nothing. (Once in a client's life, its log warns of a hold that was
/// destroyed as soon as it was granted.) May outlive its client, its mutex and the execution
/// context.
///
/// Thread safety: as for any object (distinct objects: safe; one object: one thread at a time), but
/// several threads may call the observers at once; what they tell is kept up to date by the client.
class [[nodiscard]] hold {
public:
    /// Holds nothing.
    hold() noexcept = default;
    /// Takes over what the other holds, which then holds nothing.
    hold(hold&&) noexcept = default;
    /// Releases what this one holds, as `release()`, and takes over what the other holds.
    hold& operator=(hold&& other) noexcept;
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    /// As `release()`.
    ~hold();

    /// An acquisition was granted to this object, and not released, detached or moved from.
    /// Stays true when the hold is lost: see `owns_lock()`.
    explicit operator bool() const noexcept;

    /// The lease runs, by this machine's clock, and the server has not said otherwise. The truth
    /// of one instant: a paused process can't be told, so protect the resource by `fence()`. False
    /// in a process forked from the one that acquired it.
    bool owns_lock() const noexcept;

    /// The hold is good until then if no renewal succeeds; it moves on with each one that does.
    /// Counted from the sending of the command, less lease/40 + 2 ms for drift between clocks
    /// (the drift term of the Redis page on distributed locks). The epoch if empty.
    time_point valid_until() const noexcept;

    /// `valid_until() - clock::now()`, at least zero.
    duration remaining() const noexcept;

    /// The fencing token: greater than that of every earlier acquisition of this name; 0 if the
    /// mutex is not fenced.
    std::uint64_t fence() const noexcept;

    /// Why the hold was lost (`errc`), or no error while it isn't.
    error_code lost_reason() const noexcept;

    /// Reports progress, for `lock_options::progress_within`; without it, and for a hold that
    /// ended, it does nothing. It reads the clock and stores the time: no message, no system call.
    /// Of several locks or a quorum it does so for each, under a mutex that the client and other
    /// threads take for as short a time. It may be called from any thread, by several at once.
    void progress() const noexcept;

    /// Releases in the background: marks the hold, wakes the client, returns. Never blocks. The
    /// lock may pass to a waiter of this client, as with `async_unlock`. Does nothing in a process
    /// forked from the one that acquired it, as does `detach()`.
    void release() noexcept;

    /// Stops renewing and leaves the key on the server until its lease ends.
    void detach() noexcept;

    /// Releases, and completes when the server has confirmed it. While the server is away that
    /// takes `config::operation_timeout` at most (`errc::not_connected`), and no longer than until
    /// `valid_until()`; the release goes on in the background. From the start of the operation on,
    /// the hold counts as released.
    ///
    /// Where the lock passes to a waiter of this client with no word to the server (see
    /// `config::max_passes`), it completes at once with success: the lease was confirmed less than
    /// a third of it ago. If somebody took the lock by force since then, the next holder is told.
    ///
    /// Completion signature: `void(error_code)`. Executor: the handler's associated executor, by
    /// default the client's (of an empty hold: the system's). Errors: `errc::not_owner` (empty),
    /// `errc::already_released`, `errc::lease_expired` or
    /// `errc::lock_lost` or another reason of a loss (someone else may have had the lock
    /// meanwhile), `errc::not_connected`, `errc::client_closed`, or the server's error.
    /// Cancellation (terminal, partial, total): the caller gets `operation_aborted`; the release
    /// goes on in the background.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_unlock(Token&& token = Token{}) {
        return impl::async_simple(impl::request::unlock, core_, view_, duration{},
                                  std::forward<Token>(token));
    }

    /// Completes when the hold ends: with no error if it was released or detached, with the reason
    /// if it was lost. Doesn't extend the hold's life, survives its moves.
    ///
    /// Completion signature: `void(error_code)`. Executor: as `async_unlock`. Errors:
    /// `errc::lease_expired`, `errc::renewal_refused`, `errc::lock_lost`,
    /// `errc::lost_in_failover` (as soon as the new master was asked), `errc::max_hold_reached`,
    /// `errc::no_progress`, `errc::client_closed`; `errc::not_owner` (empty); `errc::overloaded`
    /// (only where another of this hold is pending: the first is always admitted). Lateness: the
    /// first turn of the event loop at or after `valid_until()`, whatever the server does.
    /// Cancellation (terminal, partial, total): `operation_aborted`; the hold is untouched.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, duration>)
    [[nodiscard]] auto async_wait_lost(Token&& token = Token{}) const {
        return impl::async_simple(impl::request::wait_lost, core_, view_, duration{},
                                  std::forward<Token>(token));
    }

    /// The same, but tells of a loss by the lease's end ahead of time: completes `before` ahead of
    /// `valid_until()`, should no renewal have moved it on by then, with the error that the loss
    /// would have (`errc::lease_expired`, `errc::renewal_refused`, `errc::max_hold_reached`,
    /// `errc::no_progress`). The lock is still owned then, and may yet be renewed.
    ///
    /// `before`: at least zero, which is the plain form; else `errc::invalid_wait`. A client that
    /// shuts down with `shutdown_options::drain` completes the plain form with
    /// `errc::client_closed` when the drain begins; this one `before` ahead of the drain's end (a
    /// tenth of the drain at most).
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait_lost(duration before, Token&& token = Token{}) const {
        return impl::async_simple(impl::request::wait_lost, core_, view_, before,
                                  std::forward<Token>(token));
    }

    /// The same for threads: stop is requested when the hold is lost, or `before` ahead of a loss
    /// by the lease's end; at once if it is lost already, or holds nothing (empty, released...).
    /// It is not requested if the hold is released or detached first, however that comes out.
    /// Each call watches until the hold's end, so call it once. Doesn't extend the hold's life,
    /// survives its moves. The reason: `lost_reason()`, or a `lost_callback`.
    ///
    /// `before`: as of `async_wait_lost`; at least zero, which is the default, else throws
    /// `system_error` with `errc::invalid_wait`. Executor: stop is requested on the client's (of a
    /// `blocking_client` its own thread), so a `std::stop_callback` must neither block nor throw.
    /// Where `async_wait_lost` would be refused as `errc::overloaded`, stop is requested too. In a
    /// process forked from the one that acquired it, a new token is stopped, the parent's never is.
    [[nodiscard]] std::stop_token stop_token(duration before = duration::zero()) const;

    /// Makes the lease end no earlier than `lease` from now, at once; renewal goes on with this
    /// lease if it was on and its own is shorter. Never shortens anything.
    ///
    /// Completion signature: `void(error_code)`. Executor: as `async_unlock`. Errors:
    /// `errc::invalid_lease`, `errc::not_owner` (empty), `errc::already_released`,
    /// `errc::max_hold_reached`, `errc::client_closed` and the reasons of a loss;
    /// `errc::not_connected` after `config::operation_timeout`, `errc::overloaded`, or the server's
    /// error (the hold is then
    /// good until `valid_until()`). Cancellation (terminal, partial, total): `operation_aborted`;
    /// the lease may be extended.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_extend(duration lease, Token&& token = Token{}) {
        return impl::async_simple(impl::request::extend, core_, view_, lease,
                                  std::forward<Token>(token));
    }

    /// Gives the hold up and keeps the lock: it stays locked on the server for `lease` from now,
    /// longer or shorter than before, and nobody renews it. So a job that ended early still keeps
    /// others out for a while, whose clocks are wrong. From the start of the operation on the hold
    /// counts as released; neither its destructor nor the end of the client or of the process ends
    /// the lock then. `max_hold` does not shorten it.
    ///
    /// `lease`: from 10 ms to a year. Sent again after a lost connection, the command asks for what
    /// is left of it by then. Where it makes the lease longer, a copy that the lost connection
    /// delivers late makes it longer by as much as it is late; so does a late renewal that was lost
    /// with it. A hold with other levels (see `lock_options::owner`), or a read hold beside other
    /// readers of this client, is released as one level: the last one to go decides.
    ///
    /// Completion signature: `void(error_code)`. Executor: as `async_unlock`. Errors: those of
    /// `async_unlock`, in its times: without an answer, conch goes on asking in the background, and
    /// the lock may end with the lease that it had. `errc::invalid_lease`: the hold is as it was.
    /// `errc::outcome_unknown`: it isn't known whether a downgrade was done, and the lock is
    /// released. Cancellation (terminal, partial, total): `operation_aborted`; it goes on in the
    /// background.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_leave(duration lease, Token&& token = Token{}) {
        return impl::async_simple(impl::request::leave, core_, view_, lease,
                                  std::forward<Token>(token));
    }

    /// Makes a hold for writing of a `shared_mutex` one for reading, at once for all clients: no
    /// writer gets in between, and there is no moment without the lock. Readers that wait are told,
    /// Redisson's too; those of this client come in with no word to the server, as beside any
    /// reader. Where a writer waits elsewhere, new readers go on waiting for that one.
    ///
    /// From then on this is the hold of a reader in each respect, with the same lease, `max_hold`
    /// and `owner`; it can't become a writer's again. With renewal on, the lease begins anew. The
    /// operation may be repeated: for a hold that was downgraded before, it completes at once.
    ///
    /// Completion signature: `void(error_code)`. Executor: as `async_unlock`. Errors:
    /// `errc::not_a_writer` (of any other lock, or of several locks), `errc::nested_hold`,
    /// `errc::not_owner` (empty), `errc::already_released`, `errc::client_closed`, the reasons of a
    /// loss, as `async_unlock`; `errc::overloaded`, or the server's refusal (the hold is a writer's
    /// then). `errc::not_connected` after `config::operation_timeout`, `errc::protocol_error`.
    /// Cancellation (terminal, partial, total): `operation_aborted`. After these three it may
    /// become a reader's, or stay a writer's: repeat the operation to be sure. conch renews and
    /// releases it as what it is; until you are sure, write nothing.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_downgrade(Token&& token = Token{}) {
        return impl::async_simple(impl::request::downgrade, core_, view_, duration{},
                                  std::forward<Token>(token));
    }

private:
    friend struct impl::hold_result<hold>;
    friend struct impl::loss;
    friend class once;
    hold(impl::core_ptr core, impl::view_ptr view) noexcept
        : core_{std::move(core)}, view_{std::move(view)} {}

    impl::core_ptr core_{};
    impl::view_ptr view_{};
};

}  // namespace conch

#endif
