// SPDX-License-Identifier: BSL-1.0
// How waits, holds and requests ended, as metrics name it.
#include <conch/error.hpp>
#include <conch/metrics.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace conch {
namespace {

constexpr std::array<std::string_view, 7> wait_outcomes{
    "granted", "busy", "timed_out", "cancelled", "not_connected", "deadlock", "failed"};
constexpr std::array<std::string_view, 3> hold_ends{"released", "lost", "closed"};
constexpr std::array<std::string_view, 6> loss_reasons{"lease_expired",    "renewal_refused",
                                                       "lock_lost",        "lost_in_failover",
                                                       "max_hold_reached", "no_progress"};
constexpr std::array<std::string_view, 3> rate_outcomes{"granted", "refused", "failed"};

constexpr std::array<errc, loss_reasons.size()> losses{
    errc::lease_expired,    errc::renewal_refused,  errc::lock_lost,
    errc::lost_in_failover, errc::max_hold_reached, errc::no_progress};

template <typename Enum, std::size_t N>
std::string_view name_of(Enum e, const std::array<std::string_view, N>& all) noexcept {
    return all[static_cast<std::size_t>(e)];
}

}  // namespace

wait_outcome outcome_of(const wait_span& w) noexcept {
    return w.number != 0                                       ? wait_outcome::granted
           : !w.result                                         ? wait_outcome::busy
           : w.result == errc::timed_out                       ? wait_outcome::timed_out
           : w.result == boost::asio::error::operation_aborted ? wait_outcome::cancelled
           : w.result == errc::not_connected                   ? wait_outcome::not_connected
           : w.result == errc::deadlock                        ? wait_outcome::deadlock
                                                               : wait_outcome::failed;
}

hold_end end_of(const hold_span& h) noexcept {
    return !h.reason                         ? hold_end::released
           : h.reason == errc::client_closed ? hold_end::closed
                                             : hold_end::lost;
}

loss_reason loss_of(const hold_span& h) noexcept {
    const auto found = std::find(losses.begin(), losses.end(), h.reason);
    return found != losses.end() ? static_cast<loss_reason>(found - losses.begin())
                                 : loss_reason::lease_expired;
}

std::string_view to_string(wait_outcome o) noexcept { return name_of(o, wait_outcomes); }
std::string_view to_string(hold_end e) noexcept { return name_of(e, hold_ends); }
std::string_view to_string(loss_reason r) noexcept { return name_of(r, loss_reasons); }
std::string_view to_string(rate_outcome o) noexcept { return name_of(o, rate_outcomes); }

}  // namespace conch
