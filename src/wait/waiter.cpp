// SPDX-License-Identifier: BSL-1.0
#include "wait/waiter.hpp"

#include "wait/slots.hpp"

#include <algorithm>
#include <utility>

namespace conch::lock {

const pending_kind waiter::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& w = static_cast<waiter&>(p);
    ++w.home.env().telemetry.counters.cancelled;
    w.home.give_up(w, why);
}};

waiter::waiter(caller c, slot& s, impl::spec_ptr sp, const request_terms& w, time_point now)
    : pending{own_kind, c},
      progress_within{std::chrono::ceil<short_millis>(w.progress_within)},
      try_only{w.try_only},
      no_wait{w.wait == duration::zero()},
      home{s},
      spec{std::move(sp)},
      terms{w},
      max_hold{w.max_hold},
      since{now},
      deadline{this, &slot::on_wait_over} {}

bool waiter::would_take(const acquisition& a) const noexcept {
    return a.terms == terms && a.progress_within() == progress_within &&
           a.acquiring->max_hold == max_hold && a.spec->takes_as(*spec);
}

bool waiter::would_take_as_it_is(const acquisition& a, time_point now) const noexcept {
    // A resource or another process sees the change of a fence or of an owner.
    const bool is_private = !a.spec->fenced() && a.terms.owner == 0 && terms.owner == 0;
    const bool is_asked_for = a.spec->takes_as(*spec) && a.terms.renew && terms.renew &&
                              a.terms.lease == terms.lease && max_hold > terms.lease &&
                              a.valid_until <= core::after(now, max_hold);
    const bool is_in_doubt = a.under_replicated || a.last || a.refused || a.is_withheld() ||
                             !a.home.link().ready() ||
                             (a.two_fields && !protocol::is_shared(*a.spec));
    const bool is_busy =
        a.due || a.renewing || !std::all_of(a.requests.begin(), a.requests.end(), &is<watcher>);
    // It was confirmed when a third of the lease had not passed yet.
    const bool is_fresh = core::lease_end(now, terms.lease) - a.valid_until <= terms.lease / 3;
    return is_private && is_asked_for && !is_in_doubt && !is_busy && is_fresh;
}

}  // namespace conch::lock
