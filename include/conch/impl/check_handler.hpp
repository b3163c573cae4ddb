// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_CHECK_HANDLER_HPP
#define CONCH_IMPL_CHECK_HANDLER_HPP

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <type_traits>
#include <utility>

namespace conch::impl {

/// `async_initiate`, with one readable error where the completion token can't be called with what
/// the operation gives. No other error follows: of what is no function object, the result can be
/// awaited.
///
/// `Token` is that of `async_initiate`: an lvalue's is a reference, and it is copied.
template <typename Signature, typename Token, typename Initiation, typename... Args>
auto check_and_initiate(Initiation&& initiation, std::type_identity_t<Token>& token,
                        Args&&... args) {
#if defined(BOOST_ASIO_HAS_CONCEPTS)
    constexpr bool callable = boost::asio::completion_token_for<Token, Signature>;
#else
    constexpr bool callable = true;
#endif
    static_assert(callable,
                  "conch: this is no completion token for what the operation completes with: see "
                  "the completion signature in its documentation, void(error_code) or "
                  "void(error_code, result). A time is an option: {.wait = 2s}");
    if constexpr (callable) {
        return boost::asio::async_initiate<Token, Signature>(
            std::forward<Initiation>(initiation), token, std::forward<Args>(args)...);
    } else if constexpr (!requires { &std::decay_t<Token>::operator(); }) {
        return boost::asio::async_initiate<const boost::asio::deferred_t, Signature>(
            std::forward<Initiation>(initiation), boost::asio::deferred,
            std::forward<Args>(args)...);
    }
}

}  // namespace conch::impl

#endif
