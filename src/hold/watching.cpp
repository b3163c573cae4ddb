// SPDX-License-Identifier: BSL-1.0
// Callers who want to hear of the end of a hold, and those who want it later.
#include "hold/downgrading.hpp"
#include "hold/holding.hpp"
#include "hold/holds.hpp"
#include "hold/renewal.hpp"

#include <algorithm>

namespace conch::lock {
namespace {

// Its caller waits for `operation_timeout` at most, however long the lease is.
constexpr duration longest_pause_of_an_extension = std::chrono::seconds{1};

}  // namespace

const pending_kind watcher::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& w = static_cast<watcher&>(p);
    w.home.tell(w, why);
}};

const pending_kind extension::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& e = static_cast<extension&>(p);
    e.home.end(e, why);
}};

watcher::watcher(caller c, keeper& k, level& l, duration b) noexcept
    : pending{own_kind, c}, home{k}, of{l}, before{b}, soon{this, &keeper::on_soon} {}

extension::extension(caller c, keeper& k, acquisition& a, duration l, time_point now) noexcept
    : pending{own_kind, c},
      home{k},
      of{a},
      lease{l},
      since{now},
      patience{this, &keeper::on_patience_over} {}

void keeper::tell(watcher& w, error_code why) {
    env_.timers.cancel(w.soon);
    done_.complete(w, why);
    watchers_.free(w);
}

time_point keeper::notice_of_closing(const watcher& w) const noexcept {
    return closes_at_ - std::min(w.before, closing_notice_);
}

void keeper::set_soon(watcher& w) {
    const time_point at = std::min(w.of.of->valid_until - w.before, notice_of_closing(w));
    env_.timers.set(w.soon, std::max(env_.now, at));
}

// Looks again when it fires: a renewal doesn't move it.
void keeper::on_soon(void* watcher_) {
    auto& w = *static_cast<watcher*>(watcher_);
    keeper& self = w.home;
    const acquisition& a = *w.of.of;
    if (a.valid_until - w.before <= self.env_.now) {
        self.tell(w, reason_at_deadline(a));
    } else if (self.notice_of_closing(w) <= self.env_.now) {
        self.tell(w, errc::client_closed);
    } else {
        self.set_soon(w);
    }
}

bool keeper::is_watched(impl::hold_view& view) noexcept {
    const level* const l = level_of(view);
    return l && std::any_of(l->of->requests.begin(), l->of->requests.end(), [&](const pending& p) {
               return is<watcher>(p) && &static_cast<const watcher&>(p).of == l;
           });
}

void keeper::notify_closing(acquisition& a) {
    for_each_of<watcher>(a.requests, [&](watcher& w) {
        if (w.before > duration::zero()) {
            set_soon(w);
        } else {
            tell(w, errc::client_closed);
        }
    });
}

void keeper::end(extension& e, error_code why) {
    env_.timers.cancel(e.patience);
    done_.complete(e, why);
    extensions_.free(e);
}

void keeper::on_patience_over(void* extension_) {
    auto& e = *static_cast<extension*>(extension_);
    const acquisition& a = e.of;
    const wire::call* unanswered = a.renewing;
    if (!unanswered) {
        unanswered = downgrade_of(a);
    }
    e.home.end(e, unanswered            ? a.home.link().why_unanswered(*unanswered)
                  : e.refused != errc{} ? e.refused
                                        : errc::not_connected);
}

void keeper::fail_extensions(acquisition& a, errc why) {
    for_each_of<extension>(a.requests, [&](extension& e) { end(e, why); });
}

bool keeper::extended(acquisition& a, time_point sent, duration lease) {
    bool more = false;
    for_each_of<extension>(a.requests, [&](extension& e) {
        // The last lease is as long as `max_hold` lets it be.
        const bool long_enough = e.lease <= lease || (a.last && lease > duration::zero());
        if (long_enough && e.since <= sent) {
            if (a.terms.renew) {
                a.terms.lease = std::max(a.terms.lease, e.lease);
            }
            end(e, {});
        } else {
            more = true;
        }
    });
    return more;
}

duration keeper::not_extended(acquisition& a, errc why, bool passes) {
    duration pause = duration::max();
    for_each_of<extension>(a.requests, [&](extension& e) {
        if (passes) {  // asked for until its caller's patience is over
            e.refused = why;
            pause = longest_pause_of_an_extension;
        } else {
            end(e, why);
        }
    });
    return pause;
}

void keeper::forbid_growth(acquisition& a) {
    a.grows_no_more = true;
    for_each_of<extension>(a.requests, [&](extension& e) {
        if (e.lease > a.extended_by) {
            end(e, errc::not_connected);
        }
    });
}

}  // namespace conch::lock
