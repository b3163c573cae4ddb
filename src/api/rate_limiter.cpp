// SPDX-License-Identifier: BSL-1.0
#include <conch/rate_limited.hpp>
#include <conch/rate_limiter.hpp>

#include "protocol/rate_spec.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace conch {
namespace {

std::string limit_text(std::string_view name, const rate_verdict& v) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(v.retry_after);
    return "rate limit \"" + std::string{name} + "\": " + std::to_string(v.count) + " of " +
           std::to_string(v.limit) + " permits in use, next in " + std::to_string(left.count()) +
           " ms";
}

}  // namespace

rate_limiter::rate_limiter(const client& redis, std::string_view name, const rate& allowed,
                           rate_algorithm algorithm)
    : core_{redis.core_}, spec_{new impl::rate_spec{name, allowed, algorithm}} {}

std::string_view rate_limiter::name() const noexcept { return spec_->name(); }

rate_limit_error::rate_limit_error(std::string_view name, const rate_verdict& verdict)
    : system_error{make_error_code(errc::rate_limited)},
      verdict_{verdict},
      text_{limit_text(name, verdict)} {}

boost::asio::awaitable<bool> impl::take_permit(rate_limiter limiter, duration wait,
                                               bool log_refusal, rate_verdict* out) {
    constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);
    const request& what = wait == duration::zero() ? request::try_permits : request::permits;
    auto [ec, verdict] =
        co_await async_permits(what, limiter.core_, limiter.spec_, 1, wait, log_refusal, as_result);
    *out = verdict;
    if (ec && ec != errc::timed_out) {
        throw system_error{ec, "rate limit \"" + std::string{limiter.name()} + '"'};
    }
    co_return verdict.allowed;
}

}  // namespace conch
