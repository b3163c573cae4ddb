// SPDX-License-Identifier: BSL-1.0
#include "wire/subscriptions.hpp"

#include "core/check.hpp"
#include "core/recycling.hpp"

#include <memory>
#include <new>
#include <utility>

namespace conch::wire {

const call_type subscriptions::subscribe_type{
    .name = "subscribe",
    .after_loss = retry::never,
    .order = priority::normal,
    .kind = call_kind::subscription,
    .encode = &subscriptions::encode,
    .done = &subscriptions::done,
};

const call_type subscriptions::unsubscribe_type{
    .name = "unsubscribe",
    .after_loss = retry::never,
    .order = priority::normal,
    .kind = call_kind::subscription,
    .unhurried = true,
    .encode = &subscriptions::encode,
    .done = &subscriptions::done,
};

subscription::subscription(subscriptions& h, std::string_view name) noexcept
    : call{subscriptions::subscribe_type},
      home{h},
      channel_size{static_cast<std::uint32_t>(name.size())} {
    name.copy(reinterpret_cast<char*>(this + 1), name.size());
}

subscription& subscription::make(subscriptions& home, std::string_view channel) {
    void* const memory = core::allocate_recycled(sizeof(subscription) + channel.size());
    return *::new (memory) subscription{home, channel};
}

void subscription::free() noexcept {
    const std::size_t size = sizeof(subscription) + channel_size;
    std::destroy_at(this);
    core::free_recycled(this, size);
}

subscriptions::~subscriptions() {
    for (subscription* s : all_) {
        s->listeners.clear();
        s->free();
    }
}

void subscriptions::add(listener& l, std::string_view channel) {
    CONCH_CHECK(!l.to);
    subscription* s = find(channel);
    if (!s) {
        s = &subscription::make(*this, channel);
        all_.insert(s);
    }
    l.to = s;
    s->listeners.insert(s->listeners.end(), l);
    reconcile(*s);
}

void subscriptions::remove(listener& l) {
    if (!l.to) {
        return;
    }
    subscription& s = *std::exchange(l.to, nullptr);
    s.listeners.erase(s.listeners.iterator_to(l));
    reconcile(s);
}

void subscriptions::leave(listener& l) {
    if (l.to) {
        l.to->home.remove(l);
    }
}

bool subscriptions::is_answer(const call& c, const resp::value& push) noexcept {
    const auto& s = static_cast<const subscription&>(c);
    const bool begun = s.now == subscription::state::subscribing;
    return push.size() >= 2 && push.at(1).text() == s.channel() &&
           s.home.plain(push.at(0).text()) == (begun ? "subscribe" : "unsubscribe");
}

// What a push about a channel is called, as if that were no sharded one.
std::string_view subscriptions::plain(std::string_view what) const noexcept {
    return sharded_ && what.starts_with('s') ? what.substr(1) : what;
}

bool subscriptions::on_push(const resp::value& push) {
    if (push.size() < 3 || !push.at(0).is_text()) {
        return false;
    }
    const std::string_view what = plain(push.at(0).text());
    subscription* s = find(push.at(1).text());
    if (!s) {
        return false;
    }
    if (what == "message") {
        message_ = push.at(2).text();
        tell(*s, news::message);
        message_ = {};
        reconcile(*s);
        return true;
    }
    if (what == "unsubscribe" && s->now == subscription::state::on) {
        s->now = subscription::state::off;
        tell(*s, news::ended);
        reconcile(*s);
        return true;
    }
    return false;
}

void subscriptions::connection_ready() {
    // First, so that a replayed try leaves after them and closes the gap itself.
    for (subscription* s : all_) {
        if (s->where == call::state::idle) {
            reconcile(*s, true);
        }
    }
}

void subscriptions::connection_lost() {
    doubtful_.clear();
    for (auto it = all_.begin(); it != all_.end();) {
        subscription& s = **it;
        if (s.where == call::state::waiting) {
            pipeline_.withdraw(s);
        }
        s.now = subscription::state::off;
        if (s.listeners.empty()) {
            all_.erase(it++);
            s.free();
        } else {
            ++it;
        }
    }
}

void subscriptions::encode(call& c, resp::writer& w) {
    const auto& s = static_cast<const subscription&>(c);
    const bool begin = s.now == subscription::state::subscribing;
    const std::string_view sharded = begin ? "SSUBSCRIBE" : "SUNSUBSCRIBE";
    w.command(2).arg(sharded.substr(s.home.sharded_ ? 0 : 1)).arg(s.channel());
}

void subscriptions::done(call& c, const outcome& o) {
    auto& s = static_cast<subscription&>(c);
    if (o.lost()) {
        s.now = subscription::state::off;  // connection_lost() cleans up
        return;
    }
    const bool begun = s.now == subscription::state::subscribing;
    if (o.refused()) {
        s.now = begun ? subscription::state::refused : subscription::state::off;
    } else {
        s.now = begun ? subscription::state::on : subscription::state::off;
        if (!begun && s.home.sharded_) {
            s.home.doubtful_.push_back(hash_slot_of(s.channel()));
        }
    }
    if (begun) {
        s.home.tell(s, o.refused() ? news::failed : news::subscribed);
    }
    s.home.reconcile(s);
}

subscription* subscriptions::find(std::string_view channel) const noexcept {
    const auto it = all_.find(channel);
    return it == all_.end() ? nullptr : *it;
}

bool subscriptions::hears_now(std::string_view channel) const noexcept {
    const subscription* s = find(channel);
    return s && (s->now == subscription::state::on || s->now == subscription::state::unsubscribing);
}

void subscriptions::reconcile(subscription& s, bool first) {
    using state = subscription::state;
    if (s.telling) {
        return;
    }
    const bool want = !s.listeners.empty();
    if (s.where == call::state::waiting) {
        const bool begins = s.now == state::subscribing;
        if (want == begins) {
            return;
        }
        // Not written yet: as if it had never been asked for.
        pipeline_.withdraw(s);
        s.now = begins ? state::off : state::on;
    }
    if (s.where == call::state::written) {
        return;  // decided when the answer comes
    }
    if (want && s.now == state::off) {
        s.now = state::subscribing;
        s.type = &subscribe_type;
        first ? pipeline_.submit_first(s) : pipeline_.submit(s);
    } else if (!want && s.now == state::on) {
        s.now = state::unsubscribing;
        s.type = &unsubscribe_type;
        pipeline_.submit(s);
    } else if (!want) {
        all_.erase(&s);
        s.free();
    }
}

void subscriptions::tell(subscription& s, news what) {
    // A listener may leave while it hears; what follows from that waits for the end.
    s.telling = true;
    for (auto it = s.listeners.begin(); it != s.listeners.end();) {
        listener& l = *it++;
        l.hear(l.owner, what);
    }
    s.telling = false;
}

}  // namespace conch::wire
