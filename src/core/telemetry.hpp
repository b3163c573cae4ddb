// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TELEMETRY_HPP
#define CONCH_SRC_CORE_TELEMETRY_HPP

#include "core/log.hpp"
#include "core/repeated_log.hpp"
#include "core/timer_heap.hpp"

#include <conch/config.hpp>
#include <conch/error.hpp>
#include <conch/observer.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace conch::core {

/// What a client tells of itself: its counters, its log and the user's observer. An event that more
/// than one of them wants has a name here.
class telemetry {
public:
    /// `client`: its id. `now`: its clock; `timers`: what calls the log's counts. Both outlive
    /// this.
    telemetry(const config& settings, std::string_view client, timer_heap& timers,
              const time_point& now);

    /// An acquire began to wait, or to ask. `span()`: the wait's, which is only made where somebody
    /// hears of it.
    template <typename Function>
    void wait_began(Function span) {
        if (observer* const o = observer_) {
            wait_span w = span();
            tell(*o, &observer::wait_began, w);
        }
    }
    /// The same was answered. Finding the lock busy is no error of one that only tries.
    void wait_ended(wait_span w, bool only_tries);
    /// A wait is to end as `errc::deadlock`. `cycle`: who holds what, and waits for what.
    void deadlock(std::string_view cycle);
    /// `span()`: the hold's, made likewise.
    template <typename Function>
    void hold_began(Function span) {
        ++counters.acquisitions;
        if (observer* const o = observer_) {
            hold_span h = span();
            tell(*o, &observer::hold_began, h);
        }
    }
    /// Released, detached or lost. The span's reason tells which.
    template <typename Function>
    void hold_ended(Function span) {
        const bool is_logged = log.wants(log_level::debug);
        if (observer_ || is_logged) {
            hold_span h = span();
            if (is_logged && !h.reason) {
                log(log_level::debug, "released: ", h.name);
            }
            tell(&observer::held, h);
        }
    }
    /// A lock was lost, with all holds that were nested in it.
    void lost(std::string_view name, errc why);
    void renewed(renewal_span r) noexcept;
    void rate_asked(rate_span r) { tell(&observer::rate_asked, r); }
    void connection_changed(connection_change c) { tell(&observer::connection_changed, c); }
    /// This server refused to renew a hold.
    void renewal_refused(std::string_view server, std::string_view name, std::string_view words);
    /// The same server renews again.
    void renewals_accepted(std::string_view server);
    /// No turn of the event loop came for so long.
    void stood_still(duration length);
    /// A hold was destroyed, without a word of its user, so long after it was granted: where that
    /// is at once, most likely nobody kept what an acquire gave.
    void dropped(std::string_view name, duration held);
    /// Warns of what may befall many. `which`: this one of them. `why`: of each of them.
    /// `in_full`: see `repeated_log`.
    void warn(std::string_view what, std::string_view which, std::string_view why = {},
              std::size_t in_full = 1);

    stats counters{};
    std::string last_deadlock{};  ///< in words
    core::log log;
    repeated_log repeated;

private:
    template <typename Event>
    void tell(void (observer::*what)(const Event&) noexcept, Event& e) const {
        if (observer_) {
            tell(*observer_, what, e);
        }
    }
    template <typename Event>
    void tell(observer& o, void (observer::*what)(const Event&) noexcept, Event& e) const {
        e.client = client_;
        (o.*what)(e);
    }

    observer* observer_;
    const std::string client_;
    bool told_dropped_ = false;
};

}  // namespace conch::core

#endif
