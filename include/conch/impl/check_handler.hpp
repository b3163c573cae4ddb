// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_CHECK_HANDLER_HPP
#define CONCH_IMPL_CHECK_HANDLER_HPP

#include <boost/asio/async_result.hpp>

namespace conch::impl {

/// One readable error where a completion token can't be called with what an operation gives.
template <typename Signature, typename Token>
constexpr void check_handler() noexcept {
#if defined(BOOST_ASIO_HAS_CONCEPTS)
    static_assert(boost::asio::completion_token_for<Token, Signature>,
                  "conch: the handler can't be called with what this operation completes with: see "
                  "the completion signature in its documentation, void(error_code) or "
                  "void(error_code, result)");
#endif
}

}  // namespace conch::impl

#endif
