// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_COUNT_HPP
#define CONCH_IMPL_INITIATE_COUNT_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/operation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

// How the operations of a counting semaphore and of a latch start.
namespace conch::impl {

struct count_done {
    using operation_type = count_operation;
    static std::tuple<error_code> take(count_operation& op) { return {op.ec}; }
};
struct count_verdict {
    using operation_type = count_operation;
    static std::tuple<error_code, bool> take(count_operation& op) {
        return {op.ec, !op.ec && op.said == remark::done};
    }
};
struct count_number {
    using operation_type = count_operation;
    static std::tuple<error_code, std::int64_t> take(count_operation& op) {
        return {op.ec, op.ec ? 0 : op.number};
    }
};

/// What can't be asked for stays out of every range.
template <std::integral Number>
constexpr std::int64_t number_from(std::int64_t least, Number n) noexcept {
    constexpr auto bad = std::numeric_limits<std::int64_t>::min();
    return std::in_range<std::int64_t>(n) && static_cast<std::int64_t>(n) >= least
               ? static_cast<std::int64_t>(n)
               : bad;
}

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
template <typename Result>
class initiate_count {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate_count(const request& what, core_ptr core, count_spec_ptr spec)
        : what_{&what}, core_{std::move(core)}, spec_{std::move(spec)} {}

    template <typename Handler>
    void operator()(Handler&& handler, std::int64_t number, duration wait) {
        using op_type = handler_operation<std::decay_t<Handler>, Result>;
        const context_use use{core_};
        count_operation* op =
            op_type::make(*what_, core_, std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->of = std::move(spec_);
        op->number = number;
        op->options = asked_options{wait};
        submit(*op, this_build{});
    }

private:
    const request* what_;
    core_ptr core_;
    count_spec_ptr spec_;
};

template <typename Signature, typename Result, typename Token>
auto async_count(const request& what, core_ptr core, count_spec_ptr spec, std::int64_t number,
                 duration wait, Token&& token) {
    return check_and_initiate<Signature, Token>(
        initiate_count<Result>{what, std::move(core), std::move(spec)}, token, number, wait);
}

}  // namespace conch::impl

#endif
