// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_RATE_LIMITER_HPP
#define CONCH_RATE_LIMITER_HPP

#include <conch/client.hpp>
#include <conch/impl/initiate_permits.hpp>
#include <conch/rate.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

class rate_limiter;

namespace impl {

/// Takes one permit; whether it was granted. Writes the verdict to `*out`, which the awaiting
/// coroutine keeps. Throws what is neither.
boost::asio::awaitable<bool> take_permit(rate_limiter limiter, duration wait, bool log_refusal,
                                         rate_verdict* out);

/// A negative number is none that can be asked for.
template <std::integral Permits>
constexpr std::uint64_t permit_number(Permits permits) noexcept {
    return permits < Permits{0} ? 0 : static_cast<std::uint64_t>(permits);
}

}  // namespace impl

/// So many permits per window, over all processes that use the name: counted in one script on the
/// server, so exact however many ask at once. `rate_algorithm` says what "per window" means.
///
/// Each request carries its own limit; the server keeps none. Processes with another one share the
/// count, and a changed limit or window holds at once. What was counted by the old one is forgotten
/// within one window; with `gcra`, it comes back at the pace of who asks. Who still waits by the
/// old one is not in its way. There is no giving back of a permit that was granted. A server that
/// lost its data has forgotten what it counted. A step of its clock forward frees permits, and one
/// back holds them up.
///
/// A cheap, copyable handle; rate limiters of one client that agree in name, limit, window, burst
/// and algorithm share a queue. Thread safety: safe from any thread, one object too.
class rate_limiter {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB; no lock's, nor anything else's: a key of another
    /// kind is an error of the server. But a whole number of up to 15 digits with a time to live is
    /// taken for the counter of a fixed window. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name, limit, window or burst.
    rate_limiter(const client& redis, std::string_view name, const rate& allowed,
                 rate_algorithm algorithm = rate_algorithm::sliding_log);

    /// Asks once. A refusal is an answer, not an error. A try never overtakes who waits in this
    /// client: behind them it is refused, whatever is left.
    ///
    /// `permits`: from 1 to the limit (with `gcra`, the burst); all of them or none.
    ///
    /// Completion signature: `void(error_code, rate_verdict)`. Executor: the handler's associated
    /// executor, by default the client's; the handler never runs inside this call.
    /// Errors: `errc::invalid_permits` (before anything is sent), `errc::not_connected`,
    /// `errc::client_closed`, `errc::overloaded`, the server's, and `errc::outcome_unknown`: the
    /// connection broke, or was silent, after the request was written, and counting it twice would
    /// be wrong; the permits may have been counted.
    /// Cancellation (terminal, partial, total): `operation_aborted`; permits may have been counted.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_acquire(Permits permits, Token&& token = Token{}) const {
        return impl::async_permits(impl::request::try_permits, core_, spec_,
                                   impl::permit_number(permits), {}, false,
                                   std::forward<Token>(token));
    }

    /// The same for one permit.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::integral<std::decay_t<Token>>)
    [[nodiscard]] auto async_try_acquire(Token&& token = Token{}) const {
        return async_try_acquire(1, std::forward<Token>(token));
    }

    /// Waits until the permits are granted. Within one client first come, first served, a large
    /// request too; among clients there is no order. Waits by one timer, for the time that the
    /// server gave; asks again where an answer was lost, which may count permits that nobody has:
    /// fewer may pass for a window, never more.
    ///
    /// Completion signature: `void(error_code, rate_verdict)`. Executor, errors, cancellation: as
    /// `async_try_acquire`, and `errc::timed_out` once it is known that `options.wait` is too short
    /// (which may be before it is over; the verdict says what is missing), `errc::invalid_wait`.
    /// `errc::outcome_unknown` only if no answer came within `config::operation_timeout`, or its
    /// wait ended, or the client shut down, between a lost answer and the next.
    template <std::integral Permits, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(Permits permits, const rate_options& options = {},
                       Token&& token = Token{}) const {
        return impl::async_permits(impl::request::permits, core_, spec_,
                                   impl::permit_number(permits), options.wait, false,
                                   std::forward<Token>(token));
    }

    /// The same with the default options.
    template <std::integral Permits, typename Token>
        requires(!std::convertible_to<Token, const rate_options&>)
    [[nodiscard]] auto async_acquire(Permits permits, Token&& token) const {
        return async_acquire(permits, rate_options{}, std::forward<Token>(token));
    }

    /// The same for one permit: `async_acquire({.wait = 5s})`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_acquire(const rate_options& options = {},
                                     Token&& token = Token{}) const {
        return async_acquire(1, options, std::forward<Token>(token));
    }

    /// The same for one permit, with the default options.
    template <typename Token>
        requires(!std::integral<std::decay_t<Token>> &&
                 !std::convertible_to<Token, const rate_options&>)
    [[nodiscard]] auto async_acquire(Token&& token) const {
        return async_acquire(1, rate_options{}, std::forward<Token>(token));
    }

    /// The name that it was made with; lives as long as this limiter or a copy of it.
    std::string_view name() const noexcept;

private:
    friend boost::asio::awaitable<bool> impl::take_permit(rate_limiter, duration, bool,
                                                          rate_verdict*);

    impl::core_ptr core_;
    impl::rate_spec_ptr spec_;
};

}  // namespace conch

#endif
