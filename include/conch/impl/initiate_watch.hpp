// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_WATCH_HPP
#define CONCH_IMPL_INITIATE_WATCH_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/initiate.hpp>
#include <conch/impl/operation.hpp>
#include <conch/lock_status.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <type_traits>
#include <utility>

// How it begins that somebody waits for another holder than the one that is known.
namespace conch::impl {

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
class initiate_watch {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate_watch(core_ptr core, spec_ptr spec, const lock_status& known)
        : core_{std::move(core)}, spec_{std::move(spec)}, known_{known} {}

    template <typename Handler>
    void operator()(Handler&& handler, const asked_options& options) {
        using op_type = handler_operation<std::decay_t<Handler>, status_result>;
        const context_use use{core_};
        status_operation* op = op_type::make(request::watch, core_,
                                             std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->spec = std::move(spec_);
        op->options = options;
        op->status = std::move(known_);
        submit(*op, this_build{});
    }

private:
    core_ptr core_;
    spec_ptr spec_;
    lock_status known_;
};

template <typename Token>
auto async_watch(core_ptr core, spec_ptr spec, const lock_status& known,
                 const status_options& options, Token&& token) {
    return check_and_initiate<void(error_code, lock_status), Token>(
        initiate_watch{std::move(core), std::move(spec), known}, token, asked_options{options});
}

}  // namespace conch::impl

#endif
