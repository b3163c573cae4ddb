// SPDX-License-Identifier: BSL-1.0
#include "lock/querying.hpp"

#include "lock/context.hpp"
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
    .is_script = true,
    .answered_by_push = false,
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
        next_step(q, status_type);
        return;
    }
    if (!o.answered()) {
        end_query(q, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    std::optional<lock_status> s = q.spec->protocol().read_status(o.reply);
    if (!s) {
        end_query(q, errc::protocol_error);
    } else if (q.completed()) {
        end_query(q, {});
    } else {
        q.on_status(q, *std::move(s));
    }
}

void tell_status(query& q, lock_status s) {
    *q.result = std::move(s);
    end_query(q, {});
}

void on_query_overdue(void* query_) {
    auto& q = *static_cast<query*>(query_);
    give_up_query(q, q.ctx.servers.serving(q.spec->hash_slot()).why_unanswered(q));
}

}  // namespace

const pending_kind query::own_kind{.cancel = [](context&, pending& p, error_code why) {
    give_up_query(static_cast<query&>(p), why);
}};

query::query(caller c, context& h, impl::spec_ptr s, continuation go_on, lock_status* out) noexcept
    : pending{own_kind, c},
      wire::call{out && s->fenced() ? fenced_status_type : status_type},
      ctx{h},
      spec{std::move(s)},
      on_status{go_on},
      with_fence{out && spec->fenced()},
      result{out},
      patience{this, &on_query_overdue} {}

void begin_query(context& ctx, const impl::spec_ptr& spec, caller from, query::continuation go_on,
                 lock_status* result) {
    query& q = ctx.query_pool.make(from, ctx, spec, go_on, result);
    ctx.queries.push_back(q);
    ctx.timers.set(q.patience, core::after(ctx.now, ctx.settings.operation_timeout));
    ctx.servers.submit(q, spec->hash_slot());
}

void next_step(query& q, const wire::call_type& step) {
    q.type = &step;
    q.ctx.servers.submit(q, q.spec->hash_slot());
}

void end_query(query& q, error_code ec, bool flag) {
    context& ctx = q.ctx;
    ctx.timers.cancel(q.patience);
    ctx.complete(q, ec, {}, flag);
    ctx.query_pool.free(q);
}

void query_status(context& ctx, const impl::spec_ptr& spec, const status_options& options,
                  caller from, lock_status* result) {
    begin_query(ctx, spec, from, options.clients ? &ask_for_clients : &tell_status, result);
}

void give_up_query(query& q, error_code why) {
    q.result = nullptr;
    q.ctx.timers.cancel(q.patience);
    q.ctx.complete(q, q.answered ? error_code{} : why);
    if (q.where == wire::call::state::waiting) {
        q.ctx.servers.withdraw(q);
        q.ctx.query_pool.free(q);
    } else {
        q.abandon();
    }
}

}  // namespace conch::lock
