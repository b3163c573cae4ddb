// SPDX-License-Identifier: BSL-1.0
#include "core/telemetry.hpp"

#include <algorithm>
#include <chrono>
#include <ratio>
#include <string>

namespace conch::core {
namespace {

constexpr std::size_t most_losses_by_name = 10;  // in the log, of each reason in a minute
constexpr std::size_t most_deadlocks_told = 10;  // likewise

/// Less than any work takes that a lock is for.
constexpr duration at_once = std::chrono::microseconds{100};

std::string refused_by(std::string_view server) {
    return std::string{"renewal refused by "}.append(server);
}

void count_loss(stats& counters, errc why) noexcept {
    if (why == errc::max_hold_reached) {
        ++counters.lost_max_hold;
    } else if (why == errc::lock_lost || why == errc::lost_in_failover) {
        ++counters.lost_taken;
    } else if (why == errc::renewal_refused) {
        ++counters.lost_refused;
    } else if (why == errc::no_progress) {
        ++counters.lost_no_progress;
    } else if (why != errc::client_closed) {
        ++counters.lost_expired;
    }
}

}  // namespace

telemetry::telemetry(const config& settings, std::string_view client, timer_heap& timers,
                     const time_point& now)
    : log{settings.log, settings.least_log_level},
      repeated{log, timers, now},
      observer_{settings.observer.get()},
      client_{client} {}

void telemetry::wait_ended(wait_span w, bool only_tries) {
    const duration waited = w.ended - w.began;
    ++counters.waits;
    counters.wait_time += waited;
    counters.longest_wait = std::max(counters.longest_wait, waited);
    const bool timed_out = w.result && w.result == errc::timed_out;
    counters.timeouts += timed_out ? 1 : 0;
    counters.contended += w.contended && w.number != 0 ? 1 : 0;
    if (timed_out && only_tries) {
        w.result = {};
    }
    if (log.wants(log_level::debug)) {
        const auto us = std::chrono::ceil<std::chrono::microseconds>(waited).count();
        log(log_level::debug, w.number != 0 ? "granted: " : "not granted: ", w.name, " after ",
            std::to_string(us), " us", w.result ? ": " + w.result.message() : std::string{});
    }
    tell(&observer::waited, w);
}

void telemetry::deadlock(std::string_view cycle) {
    ++counters.deadlocks;
    last_deadlock = cycle;
    warn("deadlock", cycle, {}, most_deadlocks_told);
}

void telemetry::lost(std::string_view name, errc why) {
    count_loss(counters, why);
    warn("lost", name, make_error_code(why).message(), most_losses_by_name);
}

void telemetry::renewed(renewal_span r) noexcept {
    ++counters.renewals;
    counters.renewal_lateness += r.late;
    counters.latest_renewal = std::max(counters.latest_renewal, r.late);
    tell(&observer::renewed, r);
}

void telemetry::renewal_refused(std::string_view server, std::string_view name,
                                std::string_view words) {
    warn(refused_by(server), name, words);
}

void telemetry::renewals_accepted(std::string_view server) {
    repeated.over(refused_by(server) + ": ");
}

void telemetry::stood_still(duration length) {
    const auto tenths = std::chrono::duration_cast<std::chrono::duration<int, std::deci>>(length);
    const std::string seconds =
        std::to_string(tenths.count() / 10) + '.' + std::to_string(tenths.count() % 10);
    repeated(log_level::warning, "the event loop stood still",
             "the event loop stood still for at least " + seconds +
                 " s (a handler blocked it, or the machine was suspended): nothing was renewed");
}

void telemetry::dropped(std::string_view name, duration held) {
    if (told_dropped_ || held > at_once) {
        return;
    }
    told_dropped_ = true;
    log(log_level::warning, "released as soon as it was granted: ", name,
        ": its hold was destroyed; keep it for as long as the lock is needed (hold h = co_await "
        "m.async_lock();)");
}

void telemetry::warn(std::string_view what, std::string_view which, std::string_view why,
                     std::size_t in_full) {
    if (!log.wants(log_level::warning)) {
        return;
    }
    const std::string reason = why.empty() ? "" : std::string{": "}.append(why);
    repeated(log_level::warning, std::string{what}.append(reason),
             std::string{what}.append(": ").append(which).append(reason), in_full);
}

}  // namespace conch::core
