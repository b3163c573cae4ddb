// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_PERMITS_HPP
#define CONCH_IMPL_INITIATE_PERMITS_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/operation.hpp>
#include <conch/rate.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// How the operations of a rate limiter start.
namespace conch::impl {

struct verdict_result {
    using operation_type = permits_operation;
    static std::tuple<error_code, rate_verdict> take(permits_operation& op) {
        return {op.ec, op.verdict};
    }
};

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
class initiate_permits {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate_permits(const request& what, core_ptr core, rate_spec_ptr spec)
        : what_{&what}, core_{std::move(core)}, spec_{std::move(spec)} {}

    template <typename Handler>
    void operator()(Handler&& handler, std::uint64_t permits, duration wait, bool log_refusal) {
        using op_type = handler_operation<std::decay_t<Handler>, verdict_result>;
        const context_use use{core_};
        permits_operation* op =
            op_type::make(*what_, core_, std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->limit = std::move(spec_);
        op->permits = permits;
        op->options = asked_options{wait};
        op->log_refusal = log_refusal;
        submit(*op, this_build{});
    }

private:
    const request* what_;
    core_ptr core_;
    rate_spec_ptr spec_;
};

template <typename Token>
auto async_permits(const request& what, core_ptr core, rate_spec_ptr spec, std::uint64_t permits,
                   duration wait, bool log_refusal, Token&& token) {
    using signature = void(error_code, rate_verdict);
    return check_and_initiate<signature, Token>(
        initiate_permits{what, std::move(core), std::move(spec)}, token, permits, wait,
        log_refusal);
}

}  // namespace conch::impl

#endif
