// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_LATCH_HPP
#define CONCH_LATCH_HPP

#include <conch/client.hpp>
#include <conch/impl/initiate_count.hpp>
#include <conch/options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

/// Lets any number of processes wait until others have counted down to zero, as `std::latch` lets
/// threads. The key, its channel and its messages are those of Redisson's `RCountDownLatch`.
///
/// A latch whose count nobody has set is open, and so is one whose count has come to zero: its key
/// is gone. Then it may be set again. Counts are up to 2,147,483,647.
///
/// Exactly once: each call that changes the count has a key of its own, which the server keeps for
/// a minute. So a call whose answer was lost is repeated for up to half a minute, and finds what it
/// did. A failover may lose changes, as it may lose any write.
///
/// A cheap, copyable handle; latches of one client and one name share a subscription and their
/// questions. Thread safety: safe from any thread, one object too.
///
/// All operations: the handler runs on its associated executor, by default the client's, and never
/// inside the call. Errors: `errc::not_connected`, `errc::client_closed`, `errc::overloaded`, the
/// server's, `errc::wrong_type` if the key holds something else, `errc::invalid_permits` for a
/// number out of its range (before anything is sent). Who has had no answer within
/// `config::operation_timeout` (30 s at most) gets `errc::not_connected`, or, where a change may
/// have been made, `errc::outcome_unknown`.
class latch {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name; in a cluster also for one with a brace in it
    /// (a hash tag of its own): Redisson's channel of it would be in another hash slot.
    latch(const client& redis, std::string_view name);

    /// Sets the count, unless it is above zero: as the first to come does. Zero leaves the latch
    /// open.
    ///
    /// `count`: from 0. Completion signature: `void(error_code, bool)`; false: the count is above
    /// zero. Cancellation (terminal, partial, total): `operation_aborted`; it may have been done.
    template <std::integral Count, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_set_count(Count count, Token&& token = Token{}) const {
        return start<void(error_code, bool), impl::count_verdict>(
            impl::request::arm_counted, impl::number_from(0, count), std::forward<Token>(token));
    }

    /// Lowers the count; the call by which it comes to zero opens the latch, and wakes who waits,
    /// here and elsewhere. What is beyond zero is ignored, as is a call for an open latch.
    ///
    /// `by`: from 1. Completion signature: `void(error_code)`.
    /// Cancellation (terminal, partial, total): `operation_aborted`. After that, and after
    /// `errc::outcome_unknown`, it goes on in the background, also in the drain of a client that
    /// shuts down: do not repeat it.
    template <std::integral Count, typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_count_down(Count by, Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(impl::request::count_down_counted,
                                                         impl::number_from(1, by),
                                                         std::forward<Token>(token));
    }

    /// The same by one.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::integral<std::decay_t<Token>>)
    [[nodiscard]] auto async_count_down(Token&& token = Token{}) const {
        return async_count_down(1, std::forward<Token>(token));
    }

    /// Waits until the latch is open, which it may be already. Once the client has asked and
    /// listens, it hears of each opening, also where the latch is set again at once. It may miss
    /// one before that, one that falls into a lost connection, or one in a cluster before Redis 7,
    /// if the latch is set again before it asks.
    ///
    /// Completion signature: `void(error_code)`. Errors also: `errc::timed_out`,
    /// `errc::invalid_wait`. Cancellation (terminal, partial, total): `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait(const wait_options& options = {}, Token&& token = Token{}) const {
        return start<void(error_code), impl::count_done>(impl::request::acquire_counted, 1,
                                                         std::forward<Token>(token), options.wait);
    }

    /// The same with the default options.
    template <typename Token>
        requires(!std::convertible_to<Token, const wait_options&>)
    [[nodiscard]] auto async_wait(Token&& token) const {
        return async_wait(wait_options{}, std::forward<Token>(token));
    }

    /// The count; 0: the latch is open. Completion signature: `void(error_code, std::int64_t)`.
    /// Cancellation (terminal, partial, total): `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_count(Token&& token = Token{}) const {
        return start<void(error_code, std::int64_t), impl::count_number>(
            impl::request::look_counted, 0, std::forward<Token>(token));
    }

    /// The name that it was made with; lives as long as this latch or a copy of it.
    std::string_view name() const noexcept;

private:
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
