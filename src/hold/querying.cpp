// SPDX-License-Identifier: BSL-1.0
#include "hold/querying.hpp"

#include "wire/server_error.hpp"

#include <optional>
#include <utility>

namespace conch::lock {
namespace {

void encode_status(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    q.spec->protocol().encode_status(c, {.spec = *q.spec, .with_fence = q.with_fence}, w);
}

void status_done(wire::call& c, const wire::outcome& o);

constexpr wire::call_type status_type{
    .name = "status",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &encode_status,
    .done = &status_done,
};

// While its hash slot moves, a lock and its fence key may be at two servers.
constexpr wire::call_type fenced_status_type = [] {
    wire::call_type t = status_type;
    t.divisible = true;
    return t;
}();

void status_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (o.refused() && q.with_fence && !q.completed()) {
        // The user may have no right to the fence key, or that may hold something else or be at
        // another server: the rest is told without.
        q.with_fence = false;
        q.home.next_step(q, status_type);
        return;
    }
    if (!o.answered()) {
        q.home.end_query(q, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    std::optional<lock_status> s = q.spec->protocol().read_status(o.reply);
    if (!s) {
        q.home.end_query(q, errc::protocol_error);
    } else if (q.completed()) {
        q.home.end_query(q, {});
    } else {
        q.on_status(q, *std::move(s));
    }
}

void tell_status(query& q, lock_status s) {
    *q.result = std::move(s);
    q.home.end_query(q, {});
}

void on_query_overdue(void* query_) {
    auto& q = *static_cast<query*>(query_);
    q.home.give_up_query(q, q.home.link_of(q).why_unanswered(q));
}

}  // namespace

const pending_kind query::own_kind{.cancel = [](completions&, pending& p, error_code why) {
    auto& q = static_cast<query&>(p);
    q.home.give_up_query(q, why);
}};

query::query(caller c, queries& h, impl::spec_ptr s, continuation go_on, lock_status* out) noexcept
    : pending{own_kind, c},
      wire::call{out && s->fenced() ? fenced_status_type : status_type},
      home{h},
      spec{std::move(s)},
      on_status{go_on},
      with_fence{out && spec->fenced()},
      result{out},
      patience{this, &on_query_overdue} {}

query& queries::add(const impl::spec_ptr& spec, caller from, query::continuation go_on,
                    lock_status* result) {
    query& q = pool_.make(from, *this, spec, go_on, result);
    all_.push_back(q);
    env_.timers.set(q.patience, core::after(env_.now, env_.settings.operation_timeout));
    return q;
}

void queries::begin_query(const impl::spec_ptr& spec, caller from, query::continuation go_on,
                          lock_status* result) {
    servers_.submit(add(spec, from, go_on, result), spec->hash_slot());
}

void queries::add_clients(const impl::spec_ptr& spec, lock_status&& known, caller from,
                          lock_status* result) {
    ask_for_clients(add(spec, from, &ask_for_clients, result), std::move(known));
}

void queries::next_step(query& q, const wire::call_type& step) {
    q.type = &step;
    servers_.submit(q, q.spec->hash_slot());
}

void queries::end_query(query& q, error_code ec, bool released) {
    env_.timers.cancel(q.patience);
    done_.complete(q, ec, {}, impl::done_if(released));
    pool_.free(q);
}

void queries::query_status(const impl::spec_ptr& spec, const status_options& options, caller from,
                           lock_status* result) {
    begin_query(spec, from, options.clients ? &ask_for_clients : &tell_status, result);
}

void queries::force_unlock(const impl::spec_ptr& spec, caller from) {
    begin_query(spec, from, &release_holder, nullptr);
}

void queries::give_up_query(query& q, error_code why) {
    q.result = nullptr;
    env_.timers.cancel(q.patience);
    done_.complete(q, q.answered ? error_code{} : why);
    if (q.where == wire::call::state::waiting) {
        servers_.withdraw(q);
        pool_.free(q);
    } else {
        q.abandon();
    }
}

void queries::give_up_all(error_code why, const wire::link* at) {
    for (auto next = all_.begin(); next != all_.end();) {
        auto& q = static_cast<query&>(*next++);
        if (!at || &link_of(q) == at) {
            q.pending_hook::unlink();
            give_up_query(q, why);
        }
    }
}

}  // namespace conch::lock
