// SPDX-License-Identifier: BSL-1.0
#include "wait/lookouts.hpp"

#include "core/time.hpp"
#include "protocol/lock_protocol.hpp"
#include "wire/server_error.hpp"

#include <optional>
#include <utility>

namespace conch::lock {
namespace {

void encode_look(wire::call& c, resp::writer& w) {
    const auto& l = static_cast<const lookout&>(c);
    l.spec->protocol().encode_status(c, {.spec = *l.spec, .with_fence = l.with_fence}, w);
}

void looked(wire::call& c, const wire::outcome& o) {
    auto& l = static_cast<lookout&>(c);
    l.home.answered(l, o);
}

constexpr wire::call_type look_type{
    .name = "status of a watched lock",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &encode_look,
    .done = &looked,
};

// While its hash slot moves, a lock and its fence key may be at two servers.
constexpr wire::call_type fenced_look_type = [] {
    wire::call_type t = look_type;
    t.divisible = true;
    return t;
}();

void on_news(void* lookout_, wake) {
    auto& l = *static_cast<lookout*>(lookout_);
    l.home.ask(l);
}

void on_overdue(void* lookout_) {
    auto& l = *static_cast<lookout*>(lookout_);
    l.home.give_up(l, l.home.link_of(l).why_unanswered(l));
}

}  // namespace

const pending_kind lookout::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& l = static_cast<lookout&>(p);
    l.home.give_up(l, why);
}};

lookout::lookout(caller c, lookouts& h, impl::spec_ptr s, const status_options& o, lock_status* out)
    : pending{own_kind, c},
      wire::call{look_type},
      home{h},
      spec{std::move(s)},
      extras{o},
      known{out->holder},
      result{out},
      with_fence{spec->fenced()},
      news{h.env(), h.servers(), spec->hash_slot(), this, &on_news},
      patience{this, &on_overdue} {}

void lookouts::watch(const impl::spec_ptr& spec, const status_options& extras, caller from,
                     lock_status* result) {
    lookout& l = pool_.make(from, *this, spec, extras, result);
    all_.push_back(l);
    l.news.begin(protocol::watch_channel_of(*spec));
    ask(l);
}

void lookouts::ask(lookout& l) {
    if (l.where != wire::call::state::idle) {
        return;
    }
    if (!l.patience.armed()) {
        env_.timers.set(l.patience, core::after(env_.now, env_.settings.operation_timeout));
    }
    l.type = l.with_fence ? &fenced_look_type : &look_type;
    l.news.asking();
    servers_.submit(l, l.spec->hash_slot());
}

void lookouts::answered(lookout& l, const wire::outcome& o) {
    if (l.completed()) {
        pool_.free(l);
        return;
    }
    if (o.refused() && l.with_fence) {
        // The user may have no right to the fence key, or that may be at another server.
        l.with_fence = false;
        ask(l);
        return;
    }
    if (!o.answered()) {
        end(l, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    env_.timers.cancel(l.patience);
    l.with_fence = l.spec->fenced();
    std::optional<lock_status> now = l.spec->protocol().read_status(o.reply);
    if (!now) {
        end(l, errc::protocol_error);
    } else if (now->holder == l.known) {
        l.news.answered(false);
    } else {
        told(l, *std::move(now));
    }
}

void lookouts::told(lookout& l, lock_status&& now) {
    if (l.extras.clients) {
        asked_.add_clients(l.spec, std::move(now), std::exchange(l.from, {}), l.result);
    } else {
        *l.result = std::move(now);
    }
    end(l, {});
}

void lookouts::end(lookout& l, error_code ec) {
    env_.timers.cancel(l.patience);
    done_.complete(l, ec);
    pool_.free(l);
}

void lookouts::give_up(lookout& l, error_code why) {
    l.result = nullptr;
    l.news.end();
    env_.timers.cancel(l.patience);
    done_.complete(l, why);
    if (l.where == wire::call::state::waiting) {
        servers_.withdraw(l);
    }
    if (l.where == wire::call::state::written) {
        l.abandon();
    } else {
        pool_.free(l);
    }
}

void lookouts::give_up_all(error_code why, const wire::link* at) {
    for (auto next = all_.begin(); next != all_.end();) {
        auto& l = static_cast<lookout&>(*next++);
        if (!at || &link_of(l) == at) {
            l.pending_hook::unlink();
            give_up(l, why);
        }
    }
}

void lookouts::regrouped() {
    for (pending& p : all_) {
        static_cast<lookout&>(p).news.regrouped();
    }
}

}  // namespace conch::lock
