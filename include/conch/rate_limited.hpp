// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_RATE_LIMITED_HPP
#define CONCH_RATE_LIMITED_HPP

#include <conch/error.hpp>
#include <conch/impl/bound_call.hpp>
#include <conch/rate_limiter.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace conch {

/// Type of `skip`.
struct skip_t {
    /// Not made by accident, as from `{}`.
    explicit constexpr skip_t(int) noexcept {}
};
/// For `rate_limited_options::on_limit`: leave the call out, and log it.
inline constexpr skip_t skip{0};

/// How the calls of a rate-limited function behave over the limit: `rate_limit_error`.
struct rate_limited_options {
    /// As `rate_limiter`'s.
    rate_algorithm algorithm = rate_algorithm::sliding_log;
    /// How long a call may wait for its permit. Default: zero.
    duration wait{};
};

/// The same, but an empty optional, and a log line of level info.
struct skipping_options {
    /// `skip`.
    skip_t on_limit;
    /// As `rate_limiter`'s.
    rate_algorithm algorithm = rate_algorithm::sliding_log;
    /// How long a call may wait for its permit. Default: zero.
    duration wait{};
};

/// Thrown by a rate-limited function over its limit: nothing was called. Its code is
/// `errc::rate_limited`.
class rate_limit_error : public system_error {
public:
    /// `name`: of the limit.
    rate_limit_error(std::string_view name, const rate_verdict& verdict);
    /// Names the limit, and says when to come again.
    const char* what() const noexcept override { return text_.c_str(); }
    /// What the server said.
    const rate_verdict& verdict() const noexcept { return verdict_; }

private:
    rate_verdict verdict_;
    std::string text_;
};

namespace impl {

template <typename T>
using optional_result = std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>>;

template <typename T>
boost::asio::awaitable<T> run_permitted(rate_limiter limiter, duration wait, body_ptr<T> body) {
    rate_verdict verdict;
    const bool allowed = co_await take_permit(limiter, wait, false, &verdict);
    if (!allowed) {
        throw rate_limit_error{limiter.name(), verdict};
    }
    hold none;
    co_return co_await body->start(none, nullptr);
}

template <typename T>
boost::asio::awaitable<optional_result<T>> run_or_skip(rate_limiter limiter, duration wait,
                                                       body_ptr<T> body) {
    rate_verdict verdict;
    optional_result<T> result;
    const bool allowed = co_await take_permit(limiter, wait, true, &verdict);
    if (!allowed) {
        co_return result;
    }
    hold none;
    if constexpr (std::is_void_v<T>) {
        co_await body->start(none, nullptr);
        result.emplace();
    } else {
        result.emplace(co_await body->start(none, nullptr));
    }
    co_return result;
}

}  // namespace impl

/// A coroutine function whose every call takes a permit; made by `rate_limited`. Copies share the
/// function. Thread safety: as the function's own.
template <typename Fn, bool Skips>
class rate_limited_function {
public:
    /// See `rate_limited`.
    rate_limited_function(rate_limiter limiter, Fn fn, duration wait)
        : limiter_{std::move(limiter)}, fn_{std::make_shared<Fn>(std::move(fn))}, wait_{wait} {}

    /// Nothing happens before the result is awaited.
    template <typename... Args>
        requires std::invocable<Fn&, std::decay_t<Args>...>
    auto operator()(Args&&... args) const {
        using result = impl::call_result<Fn, Args...>;
        if constexpr (Skips) {
            return impl::run_or_skip<result>(limiter_, wait_,
                                             impl::bind_call(fn_, std::forward<Args>(args)...));
        } else {
            return impl::run_permitted<result>(limiter_, wait_,
                                               impl::bind_call(fn_, std::forward<Args>(args)...));
        }
    }

private:
    rate_limiter limiter_;
    std::shared_ptr<Fn> fn_;
    duration wait_;
};

/// Wraps a coroutine function: every call of the result takes one permit of the rate limit `name`,
/// over all processes that use it, and then runs the function.
///
/// `fn`: anything that `std::invoke` takes, returning `asio::awaitable<T>`, whose T is void or move
/// constructible; kept until the last call has ended. Throws `std::invalid_argument` for a bad
/// name, limit or window.
///
/// The result is called with the function's arguments, which are copied or moved as `std::thread`
/// does (`std::ref` passes a reference; GCC before 12.3 destroys a temporary that is an aggregate
/// with owning members, or a lambda with owning captures, twice in an expression with `co_await`:
/// name it), and returns an `asio::awaitable<T>`. It throws what the
/// function throws, `rate_limit_error` over the limit, else as `rate_limiter`'s operations:
/// `errc::outcome_unknown`, `errc::not_connected` and so on. Cancellation: as those while it
/// asks or waits; later it goes to the function.
template <typename Fn>
auto rate_limited(const client& redis, std::string_view name, const rate& allowed, Fn&& fn,
                  const rate_limited_options& options = {}) {
    return rate_limited_function<std::decay_t<Fn>, false>{
        rate_limiter{redis, name, allowed, options.algorithm}, std::forward<Fn>(fn), options.wait};
}

/// The same with `{.on_limit = conch::skip}`: the result returns an
/// `asio::awaitable<std::optional<T>>` (of `std::monostate` if T is void), empty over the limit;
/// then key, count, limit and time left go to the client's log.
template <typename Fn>
auto rate_limited(const client& redis, std::string_view name, const rate& allowed, Fn&& fn,
                  const skipping_options& options) {
    return rate_limited_function<std::decay_t<Fn>, true>{
        rate_limiter{redis, name, allowed, options.algorithm}, std::forward<Fn>(fn), options.wait};
}

}  // namespace conch

#endif
