// SPDX-License-Identifier: BSL-1.0
#include "wait/slot.hpp"
#include "wait/slots.hpp"

namespace conch::lock {
namespace {

void count_wake(wake why, stats& c) noexcept {
    c.wakes_by_message += why == wake::message ? 1 : 0;
    c.wakes_by_subscribe += why == wake::news ? 1 : 0;
    c.wakes_by_poll += why == wake::deadline ? 1 : 0;
}

}  // namespace

core::task contend(slot& s) {
    wake came{};  // a variable for each would make the frame a fifth larger
    s.begin_conversation();
    while (s.has_waiters()) {
        if (s.owes_turn()) {
            co_await s.contest_->turn_of_others(s.queue_.head().overdue);
            if (s.has_waiters()) {  // else it is still owed
                s.contest_->turns.end_turn();
            }
        } else if (s.blocked()) {
            came = co_await s.contest_->end_of_local_hold();
            if (came == wake::deadline) {
                s.check_holders();
            }
        } else {
            if (!s.trying()) {  // else hand_over() has made one
                s.try_next(s.contest_->at_once());
            }
            came = co_await s.contest_->answer_to_tries();
            s.contest_->round_ended(came == wake::busy);
            if (came == wake::busy && s.has_waiters() && !s.owes_turn()) {
                count_wake(co_await s.contest_->release_by_others(), s.env().telemetry.counters);
            }
        }
    }
    s.end_conversation();
}

void slot::begin_conversation() {
    contending_ = true;
    // A try that follows at once leaves in the same write, so that no release is missed between
    // them. Else on_news() calls for one.
    begin_contest().listen();
    if (!acquisitions_.held()) {
        ++env().telemetry.counters.wakes_by_subscribe;
    } else if (contest_->hears_now()) {
        // Another name shares the channel: no confirmation will bring this about.
        check_holders();
    }
}

void slot::end_conversation() {
    contest_->stop_listening();
    contending_ = false;
    if ((!acquisitions_.held() && !others_wait()) || protocol::takes_permits(*spec)) {
        end_contest();
    }
    all().may_be_idle(*this);
}

// A message may have been missed meanwhile.
void slot::regrouped() {
    acquisitions_.for_each_holder([&](acquisition& a) { client.renewing.check_elsewhere(a); });
    if (trying()) {
        trying()->server_moved = true;
    }
    if (contest_ && has_waiters() && contest_->listen_elsewhere()) {
        contest_->heard(wake::news);
    }
}

void slot::on_news(void* self, wire::news what) {
    slot& s = *static_cast<slot*>(self);
    contest& c = *s.contest_;
    // What is held may have been taken away; of permits that are held, no message tells.
    if (what != wire::news::failed && !protocol::takes_permits(*s.spec)) {
        s.check_holders();
    }
    switch (what) {
        case wire::news::message:
            if (!s.take_gift(c.message())) {
                c.turns.heard_message();
                c.heard(wake::message);
            }
            return;
        case wire::news::subscribed:
            // A try that leaves, or left, after the subscription sees what came before it.
            if (!s.trying() || (s.trying()->acquiring->where != wire::call::state::waiting &&
                                s.trying()->acquiring->serial <= c.serial())) {
                c.heard(wake::news);
            }
            return;
        case wire::news::ended:  // whoever serves the channel now may know of another holder
            c.heard(wake::news);
            return;
        case wire::news::failed:
            s.env().telemetry.warn("no release messages, polling", s.name());
            c.heard(wake::news);
            if (s.acquisitions_.held()) {  // asks now, and more often from now on
                c.tell(wake::deadline);
            }
            return;
    }
}

}  // namespace conch::lock
