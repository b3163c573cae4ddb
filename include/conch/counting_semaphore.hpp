// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_COUNTING_SEMAPHORE_HPP
#define CONCH_COUNTING_SEMAPHORE_HPP

#include <conch/client.hpp>
#include <conch/impl/initiate_count.hpp>
#include <conch/options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

/// A number of permits that all processes share which use the name: who takes some leaves fewer to
/// the others until they are released. As `std::counting_semaphore`, permits have no owner: anybody
/// may release any number, and the permits of a process that died stay taken until somebody adds
/// them. The key, its channel and its messages are those of Redisson's `RSemaphore`.
///
/// A semaphore whose permits nobody has set has none. It never has more than 2,147,483,647: what
/// would make more is `errc::invalid_permits`, and changes nothing.
///
/// Exactly once: each call that changes the permits has a key of its own, which the server keeps
/// for a minute. So a call whose answer was lost is repeated for up to half a minute, and finds
/// what it did. A failover may lose changes, as it may lose any write.
///
/// A cheap, copyable handle; semaphores of one client and one name share a queue. Thread safety:
/// safe from any thread, one object too.
///
/// All operations: the handler runs on its associated executor, by default the client's, and never
/// inside the call. Errors: `errc::not_connected`, `errc::client_closed`, `errc::overloaded`, the
/// server's, `errc::wrong_type` if the key holds something else, `errc::invalid_permits` for a
/// number out of its range (before anything is sent). Who has had no answer within
/// `config::operation_timeout` (30 s at most) gets `errc::not_connected`, or, where the change may
/// have been made, `errc::outcome_unknown`.
class counting_semaphore {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name.
    counting_semaphore(const client& redis, std::string_view name);

    /// Waits until all the permits are granted. Within one client first come, first served: a large
    /// request is not overtaken by small ones. Among clients there is no order.
    ///
    /// `permits`: from 1. Completion signature: `void(error_code)`.
    /// Errors also: `errc::timed_out`, `errc::invalid_wait`. With an error the caller has no
    /// permits: what the server may have granted is given back in the background. Only
    /// `errc::outcome_unknown` says that permits may be lost: the server was away for half a minute
    /// after the request was written.
    /// Cancellation (terminal, partial, total): `operation_aborted`; no permits are taken.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(Permits permits, const wait_options& options = {},
                                     Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(impl::request::acquire_counted,
                                                         impl::number_from(1, permits),
                                                         std::forward<Token>(token), options.wait);
    }

    /// The same with the default options.
    template <std::integral Permits, typename Token>
        requires(!std::convertible_to<Token, const wait_options&>)
    [[nodiscard]] auto async_acquire(Permits permits, Token&& token) const {
        return async_acquire(permits, wait_options{}, std::forward<Token>(token));
    }

    /// The same for one permit: `async_acquire({.wait = 5s})`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(const wait_options& options = {},
                                     Token&& token = Token{}) const {
        return async_acquire(1, options, std::forward<Token>(token));
    }

    /// The same for one permit, with the default options.
    template <typename Token>
        requires(!std::integral<std::decay_t<Token>> &&
                 !std::convertible_to<Token, const wait_options&>)
    [[nodiscard]] auto async_acquire(Token&& token) const {
        return async_acquire(1, wait_options{}, std::forward<Token>(token));
    }

    /// Asks once. False: there are not so many. A try never overtakes who waits in this client:
    /// behind them it is refused, whatever is left.
    ///
    /// `permits`: from 1. Completion signature: `void(error_code, bool)`. Errors and cancellation:
    /// as `async_acquire`, but never `errc::timed_out`.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_acquire(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code, bool), impl::count_verdict>(
            impl::request::try_acquire_counted, impl::number_from(1, permits),
            std::forward<Token>(token));
    }

    /// The same for one permit.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::integral<std::decay_t<Token>>)
    [[nodiscard]] auto async_try_acquire(Token&& token = Token{}) const {
        return async_try_acquire(1, std::forward<Token>(token));
    }

    /// Adds permits, and wakes who waits, here and elsewhere.
    ///
    /// `permits`: from 1. Completion signature: `void(error_code)`.
    /// Cancellation (terminal, partial, total): `operation_aborted`. After that, and after
    /// `errc::outcome_unknown`, the release goes on in the background, also in the drain of a
    /// client that shuts down: do not repeat it.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_release(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(
            impl::request::add_counted, impl::number_from(1, permits), std::forward<Token>(token));
    }

    /// The same for one permit.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::integral<std::decay_t<Token>>)
    [[nodiscard]] auto async_release(Token&& token = Token{}) const {
        return async_release(1, std::forward<Token>(token));
    }

    /// As `async_release`; a negative number takes permits away, without waiting: fewer than none
    /// may be left, which others must release first. Not zero.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_add(Permits permits, Token&& token = Token{}) const {
        constexpr auto least = std::numeric_limits<std::int64_t>::min();
        return start<void(error_code), impl::count_done>(
            impl::request::add_counted, permits == 0 ? least : impl::number_from(least, permits),
            std::forward<Token>(token));
    }

    /// Sets how many permits are left, whatever was before. From 0. Completion signature:
    /// `void(error_code)`. Cancellation (terminal, partial, total): `operation_aborted`; it may
    /// have been done.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_set(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(
            impl::request::set_counted, impl::number_from(0, permits), std::forward<Token>(token));
    }

    /// The same unless the semaphore is there already: as the first to come does. Completion
    /// signature: `void(error_code, bool)`; false: it is there.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_set(Permits permits, Token&& token = Token{}) const {
        return start<void(error_code, bool), impl::count_verdict>(impl::request::try_set_counted,
                                                                  impl::number_from(0, permits),
                                                                  std::forward<Token>(token));
    }

    /// Takes all permits that are left. Completion signature: `void(error_code, std::int64_t)`: how
    /// many. A negative number is set to zero, and returned. Errors and cancellation: as
    /// `async_try_acquire`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_drain(Token&& token = Token{}) const {
        return start<void(error_code, std::int64_t), impl::count_number>(
            impl::request::drain_counted, 0, std::forward<Token>(token));
    }

    /// How many permits are left. Completion signature: `void(error_code, std::int64_t)`.
    /// Cancellation (terminal, partial, total): `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_available(Token&& token = Token{}) const {
        return start<void(error_code, std::int64_t), impl::count_number>(
            impl::request::look_counted, 0, std::forward<Token>(token));
    }

    /// The name that it was made with; lives as long as this semaphore or a copy of it.
    std::string_view name() const noexcept;

private:
    friend class blocking_semaphore;

    template <typename Signature, typename Result, typename Token>
    auto start(const impl::request& what, std::int64_t number, Token&& token,
               duration wait = {}) const {
        return impl::async_count<Signature, Result>(what, core_, spec_, number, wait,
                                                    std::forward<Token>(token));
    }

    impl::core_ptr core_;
    impl::count_spec_ptr spec_;
};

}  // namespace conch

#endif
