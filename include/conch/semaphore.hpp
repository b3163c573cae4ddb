// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SEMAPHORE_HPP
#define CONCH_SEMAPHORE_HPP

#include <conch/client.hpp>
#include <conch/impl/initiate_count.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

/// Permits shared by all processes that use the name, each taken for a lease: so many holders at
/// once at most. What a crashed process had comes back when its leases end. Redisson's
/// `RPermitExpirableSemaphore` on the wire, so a Java service with the same name takes from the
/// same permits, and wakes who waits here, and vice versa.
///
/// An acquisition is a `hold`, all its permits at once or none: renewed, lost and released as one
/// of a `mutex`, and lost with any one of its permits. Differences:
///
/// - Waiters of one client are served in their order: a large request is not overtaken by small
///   ones behind it. All ask the server at once until one is refused; then the first asks alone:
///   when somebody gave permits back, when the next lease ends, and within
///   `config::max_poll_interval`. As it gets its permits, those behind it ask again. Among clients
///   there is no order.
/// - A semaphore whose permits nobody has set has none, and who wants some waits until they are
///   set. Who wants more than it has in all gets `errc::invalid_permits`, from the server.
/// - At most 1,000 permits at once, and 2,147,483,647 in all.
/// - No fences, no `mutex_options::replicas`. `lock_options::owner` means nothing here: each
///   acquisition takes permits of its own, so who takes some while it has others may wait for
///   itself.
/// - Leases end by the server's clock, those of Redisson's clients by their own. If that is ahead,
///   such a client takes permits of others so much too early; if it is behind, it loses its own.
///
/// A cheap, copyable handle. Thread safety: safe from any thread, one object too.
///
/// The calls that count, all but acquisitions: the handler runs on its associated executor, by
/// default the client's, and never inside the call. Errors: `errc::not_connected`,
/// `errc::client_closed`, `errc::overloaded`, the server's, `errc::wrong_type` if the key holds
/// something else, `errc::invalid_permits` for a number out of its range (before anything is sent,
/// except where only the server can know). Who changes the permits and had no answer gets
/// `errc::outcome_unknown` if the change may have been made. Each change is made once, as those of
/// a `counting_semaphore`.
class semaphore {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name.
    semaphore(const client& redis, std::string_view name);

    /// Waits until all the permits are granted. Keep the hold: its destructor gives them back.
    ///
    /// `permits`: from 1 to 1,000. All else, `options` and errors too, as `mutex::async_lock`, and
    /// `errc::invalid_permits`.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(Permits permits, const lock_options& options = {},
                                     Token&& token = Token{}) const {
        return impl::async_acquire<hold>(impl::request::lock, core_,
                                         taking(impl::number_from(1, permits)), options,
                                         std::forward<Token>(token));
    }

    /// The same with the default options.
    template <std::integral Permits, typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_acquire(Permits permits, Token&& token) const {
        return async_acquire(permits, lock_options{}, std::forward<Token>(token));
    }

    /// The same for one permit: `async_acquire({.wait = 5s})`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(const lock_options& options = {},
                                     Token&& token = Token{}) const {
        return async_acquire(1, options, std::forward<Token>(token));
    }

    /// The same for one permit, with the default options.
    template <typename Token>
        requires(!std::integral<std::decay_t<Token>> &&
                 !std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_acquire(Token&& token) const {
        return async_acquire(1, lock_options{}, std::forward<Token>(token));
    }

    /// Tries, for as long as `options.wait` (default: once). An empty hold: too few are left, or
    /// others of this client wait for some. All else as `async_acquire`.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_acquire(Permits permits, const lock_options& options = {},
                                         Token&& token = Token{}) const {
        return impl::async_acquire<hold>(impl::request::try_lock, core_,
                                         taking(impl::number_from(1, permits)), options,
                                         std::forward<Token>(token));
    }

    /// The same with the default options: once.
    template <std::integral Permits, typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_try_acquire(Permits permits, Token&& token) const {
        return async_try_acquire(permits, lock_options{}, std::forward<Token>(token));
    }

    /// The same for one permit.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_acquire(const lock_options& options = {},
                                         Token&& token = Token{}) const {
        return async_try_acquire(1, options, std::forward<Token>(token));
    }

    /// The same for one permit, once.
    template <typename Token>
        requires(!std::integral<std::decay_t<Token>> &&
                 !std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_try_acquire(Token&& token) const {
        return async_try_acquire(1, lock_options{}, std::forward<Token>(token));
    }

    /// Sets how many permits there are in all, those that are out included, unless that was set
    /// before: so only the first to come sets it. From 0. Completion signature: `void(error_code,
    /// bool)`; false: it was set. Cancellation (terminal, partial, total): `operation_aborted`; it
    /// may have been done.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_set_permits(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code, bool), impl::count_verdict>(impl::request::try_set_counted,
                                                                  impl::number_from(0, permits),
                                                                  std::forward<Token>(token));
    }

    /// The same whatever was set before. If that lowers the number, fewer than none may be left
    /// until others give some back. Completion signature: `void(error_code)`.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_set_permits(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(
            impl::request::set_counted, impl::number_from(0, permits), std::forward<Token>(token));
    }

    /// Adds so many to the total; a negative number takes them away, without waiting. Not zero.
    /// Completion signature: `void(error_code)`. Cancellation (terminal, partial, total):
    /// `operation_aborted`; the change goes on in the background.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_add_permits(Permits permits, Token&& token = Token{}) const {
        constexpr auto least = std::numeric_limits<std::int64_t>::min();
        return start<void(error_code), impl::count_done>(
            impl::request::add_counted, permits == 0 ? least : impl::number_from(least, permits),
            std::forward<Token>(token));
    }

    /// How many permits are left, those included whose lease is over. Completion signature:
    /// `void(error_code, std::int64_t)`. Cancellation (terminal, partial, total):
    /// `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_available(Token&& token = Token{}) const {
        return look(impl::request::look_counted, std::forward<Token>(token));
    }

    /// The same: how many are out.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquired(Token&& token = Token{}) const {
        return look(impl::request::look_out_counted, std::forward<Token>(token));
    }

    /// The same: how many there are in all.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_total(Token&& token = Token{}) const {
        return look(impl::request::look_total_counted, std::forward<Token>(token));
    }

    /// An acquisition of so many permits as a `mutex`, for what takes a `mutex`: `with_lock`,
    /// `multi_lock`, `blocking_mutex`. Its `async_status` tells of all permits
    /// (`lock_status::permits`). Its `async_force_unlock` takes back the ids that the status names;
    /// holders find out at their next renewal (or check), but for those of this client at once.
    /// `permits`: from 1 to 1,000. Throws `std::invalid_argument` for another number.
    mutex permits(std::int64_t permits) const;

    /// The name that it was made with; lives as long as this semaphore or a copy of it.
    std::string_view name() const noexcept;

private:
    template <typename Signature, typename Result, typename Token>
    auto start(const impl::request& what, std::int64_t number, Token&& token) const {
        return impl::async_count<Signature, Result>(what, core_, count_, number, duration{},
                                                    std::forward<Token>(token));
    }
    template <typename Token>
    auto look(const impl::request& what, Token&& token) const {
        return start<void(error_code, std::int64_t), impl::count_number>(
            what, 0, std::forward<Token>(token));
    }
    impl::spec_ptr taking(std::int64_t permits) const;

    impl::core_ptr core_;
    impl::count_spec_ptr count_;
    impl::spec_ptr one_;
};

}  // namespace conch

#endif
