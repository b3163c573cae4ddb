// SPDX-License-Identifier: BSL-1.0
#include <conch/once.hpp>

#include "core/time.hpp"
#include "driver/client_core.hpp"

#include <conch/printable.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace conch {
namespace {

using std::chrono::milliseconds;

mutex_options fenced(mutex_options options) {
    options.fenced = true;
    return options;
}

impl::once_note checked(const once_schedule& s) {
    const auto need = [](bool good, const char* why) {
        if (!good) {
            throw std::invalid_argument{std::string{"conch::once: "} + why};
        }
    };
    need(s.period >= std::chrono::seconds{1} && s.period <= core::longest_lease,
         "the period must be from 1 s to a year");
    need(s.at >= duration::zero() && s.at < s.period,
         "at must be at least zero, and less than the period");
    return {.period_ms = std::chrono::floor<milliseconds>(s.period).count(),
            .at_ms = std::chrono::floor<milliseconds>(s.at).count()};
}

// The server's clock may be wrong by any amount.
std::int64_t latest_planned(std::int64_t now, const impl::once_note& n) noexcept {
    const std::int64_t over = (now - n.at_ms) % n.period_ms;
    return now - (over < 0 ? over + n.period_ms : over);
}

}  // namespace

once::once(const client& redis, std::string_view name, const once_schedule& schedule,
           const mutex_options& options)
    : lock_{redis, name, fenced(options)}, note_{checked(schedule)} {}

void once::fail(error_code of_note) const {
    if (of_note == boost::asio::error::operation_aborted) {
        throw system_error{of_note};
    }
    const std::string words =
        printable(static_cast<const impl::client_core&>(*lock_.core_).report().last_words());
    throw system_error{errc::not_noted, label() + ": " + of_note.message() +
                                            (words.empty() ? "" : " (" + words + ')')};
}

std::tuple<error_code, once_due> impl::due_result::take(note_operation& op) {
    if (op.ec) {
        return {op.ec, once_due{}};
    }
    const duration waited = std::max(op.answer.sent - op.note.came, duration::zero());
    const std::int64_t came_ms =
        op.answer.now_ms - std::chrono::floor<milliseconds>(waited).count();
    const std::int64_t planned = latest_planned(came_ms, op.note);
    return {op.ec, once_due{.planned = planned_time{milliseconds{planned}},
                            .done = op.answer.done_ms >= planned && op.answer.done_ms > 0}};
}

}  // namespace conch
