// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_HPP
#define CONCH_IMPL_INITIATE_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/operation.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

// How each public asynchronous operation starts: the only templates between a completion token and
// the compiled library.
namespace conch {
class hold;
}

namespace conch::impl {

struct no_result {
    using operation_type = operation;
    static std::tuple<error_code> take(operation& op) { return {op.ec}; }
};
struct done_result {
    using operation_type = operation;
    static std::tuple<error_code, bool> take(operation& op) {
        return {op.ec, op.said == remark::done};
    }
};
struct status_result {
    using operation_type = status_operation;
    static std::tuple<error_code, lock_status> take(status_operation& op) {
        return {op.ec, std::move(op.status)};
    }
};
template <typename Hold>
struct hold_result {
    using operation_type = operation;
    static std::tuple<error_code, Hold> take(operation& op) {
        if (!op.view) {
            return {op.ec, Hold{}};
        }
        return {op.ec, Hold{op.core, std::move(op.view)}};
    }
};

/// The initiation of every operation. A class with a constructor: GCC 12 destroys an aggregate
/// twice in an expression with co_await.
template <typename Result>
class initiate {
public:
    /// That of a handler without one: a timer of `asio::cancel_after` runs where the handler does.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate(const request& what, core_ptr core, spec_ptr spec, view_ptr view)
        : what_{&what}, core_{std::move(core)}, spec_{std::move(spec)}, view_{std::move(view)} {}

    template <typename Handler>
    void operator()(Handler&& handler, const asked_options& options) {
        using op_type = handler_operation<std::decay_t<Handler>, Result>;
        const context_use use{core_};
        operation* op =
            op_type::make(*what_, core_, std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->spec = std::move(spec_);
        op->view = std::move(view_);
        op->options = options;
        submit(*op, this_build{});
    }

private:
    const request* what_;
    core_ptr core_;
    spec_ptr spec_;
    view_ptr view_;
};

template <typename Signature, typename Result, typename Token>
auto start(initiate<Result> initiation, Token& token, const asked_options& options = {}) {
    return check_and_initiate<Signature, Token>(std::move(initiation), token, options);
}

template <typename Hold, typename Token>
auto async_acquire(const request& what, core_ptr core, spec_ptr spec, const lock_options& options,
                   Token&& token) {
    return start<void(error_code, Hold), hold_result<Hold>, Token>(
        {what, std::move(core), std::move(spec), nullptr}, token, asked_options{options});
}

template <typename Token>
auto async_status(core_ptr core, spec_ptr spec, const status_options& options, Token&& token) {
    return start<void(error_code, lock_status), status_result, Token>(
        {request::status, std::move(core), std::move(spec), nullptr}, token,
        asked_options{options});
}

template <typename Token>
auto async_force_unlock(core_ptr core, spec_ptr spec, Token&& token) {
    return start<void(error_code, bool), done_result, Token>(
        {request::force_unlock, std::move(core), std::move(spec), nullptr}, token);
}

template <typename Token>
auto async_simple(const request& what, core_ptr core, view_ptr view, duration amount,
                  Token&& token) {
    return start<void(error_code), no_result, Token>(
        {what, std::move(core), nullptr, std::move(view)}, token, asked_options{amount});
}

}  // namespace conch::impl

#endif
