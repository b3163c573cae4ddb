// SPDX-License-Identifier: BSL-1.0
#include "hold/noting.hpp"

#include "hold/holding.hpp"
#include "hold/holds.hpp"
#include "wire/server_error.hpp"

namespace conch::lock {

const wire::call_type noter::type{
    .name = "once",
    .after_loss = wire::retry::replay,
    .order = wire::priority::urgent,
    .kind = wire::call_kind::script,
    .encode =
        [](wire::call& c, resp::writer& w) {
            auto& n = static_cast<note&>(c);
            protocol::encode_once(c, *n.of->spec, field_of(*n.of), n.what, w);
        },
    .done =
        [](wire::call& c, const wire::outcome& o) {
            auto& n = static_cast<note&>(c);
            n.home.answered(n, o);
        },
};

const pending_kind note::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& n = static_cast<note&>(p);
    n.home.give_up(n, why);
}};

note::note(caller c, noter& n, acquisition& a, const impl::once_note& w,
           impl::once_answer* out) noexcept
    : pending{own_kind, c},
      wire::call{noter::type},
      home{n},
      of{&a},
      what{w},
      result{out},
      patience{this, &noter::on_patience_over} {}

bool noter::is_being_written(impl::hold_view& view) noexcept {
    bool is = false;
    if (const level* const l = level_of(view)) {
        for_each_of<note>(l->of->requests, [&](const note& n) { is = is || n.what.done_ms; });
    }
    return is;
}

void noter::send(const impl::view_ptr& view, const impl::lock_spec& spec,
                 const impl::once_note& what, caller from, impl::once_answer* result) {
    level* const l = level_of(*view);
    if (!l) {
        done_.answer(from, reason_of(*view));
        return;
    }
    acquisition& a = *l->of;
    if (a.spec->name() != spec.name() || &a.spec->protocol() != &spec.protocol()) {
        done_.answer(from, errc::not_owner);
        return;
    }
    note& n = notes_.make(from, *this, a, what, result);
    // What was done is told as long as the hold may be good. Where a server renews it, but refuses
    // the note, that is over after a lease.
    const duration patience = what.done_ms ? a.extended_by : env_.settings.operation_timeout;
    a.requests.push_back(n);
    env_.timers.set(n.patience, core::after(env_.now, patience));
    a.home.submit(n);
}

void noter::on_patience_over(void* note_) {
    auto& n = *static_cast<note*>(note_);
    n.home.give_up(n, n.of->home.link().why_unanswered(n));
}

// Nobody waits for it any more: no further copy is sent. Whether the server ran one stays unknown.
void noter::give_up(note& n, error_code why) {
    env_.timers.cancel(n.patience);
    done_.complete(n, why);
    if (n.where == wire::call::state::waiting) {
        n.of->home.link().withdraw(n);
        finish(n);
    } else {
        n.abandon();
    }
}

void noter::finish(note& n) {
    env_.timers.cancel(n.patience);
    notes_.free(n);
}

void noter::answered(note& n, const wire::outcome& o) {
    if (!n.of || o.lost()) {
        finish(n);
        return;
    }
    const errc refused = o.refused() ? wire::to_errc(o.reply.text()) : errc{};
    // What others keep there may go, and the job is done.
    if (refused == errc::out_of_memory && !n.completed()) {
        n.of->home.link().retry_later(n, refused);
        return;
    }
    const auto answer = o.answered() ? protocol::read_once(o.reply) : std::nullopt;
    if (answer && answer->held) {
        if (!n.completed()) {
            *n.result = *answer;
            n.result->sent = n.history.last_sent;
        }
        done_.complete(n, {});
    } else if (answer) {
        holds_.lose_gone(*n.of);  // and each of its callers is told why
    } else {
        done_.complete(n, o.refused() ? refused : errc::protocol_error);
    }
    finish(n);
}

void noter::end_all(acquisition& a, error_code why) {
    for_each_of<note>(a.requests, [&](note& n) {
        n.pending_hook::unlink();
        env_.timers.cancel(n.patience);
        done_.complete(n, why);
        n.of = nullptr;
        if (n.where == wire::call::state::waiting) {
            a.home.link().withdraw(n);
            finish(n);
        } else {
            n.abandon();
        }
    });
}

}  // namespace conch::lock
