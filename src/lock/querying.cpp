// SPDX-License-Identifier: BSL-1.0
#include "lock/querying.hpp"

#include "lock/client_list.hpp"
#include "lock/context.hpp"
#include "wire/server_error.hpp"

#include <charconv>
#include <utility>

namespace conch::lock {
namespace {

using purpose = query::purpose;

void status_done(wire::call& c, const wire::outcome& o);
void waiting_done(wire::call& c, const wire::outcome& o);
void clients_done(wire::call& c, const wire::outcome& o);
void force_done(wire::call& c, const wire::outcome& o);

// Where a cluster moves both, the fence key may be at another server than the lock.
bool asks_for_fence(const query& q) noexcept {
    return q.spec->fenced() && q.why != purpose::force && !q.without_fence;
}

void encode_status(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    const bool with_fence = asks_for_fence(q);
    wire::write_script(w, c, q.spec->family().status, with_fence ? 2 : 1, 0).arg(q.spec->name());
    if (with_fence) {
        write_name(w, q.spec->fence_key());
    }
}

void encode_waiting(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    w.command(3).arg("PUBSUB").arg(q.ctx.servers.sharded() ? "SHARDNUMSUB" : "NUMSUB");
    write_name(w, q.spec->channel());
}

void encode_clients(wire::call&, resp::writer& w) { w.command(2).arg("CLIENT").arg("LIST"); }

void encode_force(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    const bool sharded = q.ctx.servers.sharded();
    wire::write_script(w, c, q.spec->family().release.one, 1, sharded ? 3 : 2)
        .arg(q.spec->name())
        .arg(q.holder);
    write_name(w, q.spec->channel());
    if (sharded) {
        w.arg("spublish");
    }
}

constexpr wire::call_type status_type{
    .name = "status",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .is_script = true,
    .answered_by_push = false,
    .encode = &encode_status,
    .done = &status_done,
};

// These two are extras: what can't be had is left out, and no loss of a connection that a long
// answer may cause has it asked for again.
constexpr wire::call_type waiting_type{
    .name = "pubsub numsub",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .is_script = false,
    .answered_by_push = false,
    .encode = &encode_waiting,
    .done = &waiting_done,
};

constexpr wire::call_type clients_type{
    .name = "client list",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .is_script = false,
    .answered_by_push = false,
    .encode = &encode_clients,
    .done = &clients_done,
};

// Names the holder that was read, so that a replay never hits the next one.
constexpr wire::call_type force_type{
    .name = "force unlock",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .is_script = true,
    .answered_by_push = false,
    .encode = &encode_force,
    .done = &force_done,
};

template <typename Number>
Number number_in(std::string_view text) noexcept {
    Number n{};
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

// False if the key is no lock of ours or Redisson's: such a hash has exactly one field.
bool read_status(const resp::value& reply, lock_status& s) {
    if (reply.size() < 2 || !reply.at(0).is_integer()) {
        return false;
    }
    const std::int64_t ttl = reply.at(0).integer();
    s.locked = ttl != -2;
    s.fence = number_in<std::uint64_t>(reply.at(1).text());
    if (!s.locked) {
        return true;
    }
    if (reply.size() != 4) {
        return false;
    }
    if (ttl >= 0) {
        s.ttl = std::chrono::milliseconds{ttl};
    }
    s.holder = reply.at(2).text();
    s.depth = number_in<std::uint64_t>(reply.at(3).text());
    return true;
}

void finish(query& q, error_code ec, bool flag = false) {
    context& ctx = q.ctx;
    ctx.timers.cancel(q.patience);
    ctx.complete(q, ec, {}, flag);
    ctx.query_pool.free(q);
}

void on_query_overdue(void* query_) {
    auto& q = *static_cast<query*>(query_);
    give_up_query(q, q.ctx.servers.serving(q.spec->hash_slot()).why_unanswered(q));
}

void begin_query(context& ctx, const impl::spec_ptr& spec, caller from, purpose why,
                 lock_status* result) {
    query& q = ctx.query_pool.make(from, ctx, spec, why, result);
    ctx.queries.push_back(q);
    ctx.timers.set(q.patience, core::after(ctx.now, ctx.settings.operation_timeout));
    ctx.servers.submit(q, spec->hash_slot());
}

void next_step(query& q, const wire::call_type& step) {
    q.type = &step;
    q.ctx.servers.submit(q, q.spec->hash_slot());
}

void status_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    const bool denied = o.refused() && wire::to_errc(o.reply.text()) == errc::permission_denied;
    if (denied && asks_for_fence(q) && !q.completed()) {
        // The user may have no right to the fence key: the rest is told without.
        q.without_fence = true;
        next_step(q, status_type);
        return;
    }
    if (!o.answered()) {
        finish(q, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    lock_status s;
    if (!read_status(o.reply, s)) {
        finish(q, errc::wrong_type);
        return;
    }
    if (q.completed() || (q.why == purpose::force && !s.locked)) {
        finish(q, {}, false);
    } else if (q.why == purpose::force) {
        q.holder = std::move(s.holder);
        next_step(q, force_type);
    } else {
        *q.result = std::move(s);
        q.answered = true;
        if (q.why == purpose::status_with_clients) {
            next_step(q, waiting_type);
        } else {
            finish(q, {});
        }
    }
}

// Answers with the channel's name and its number.
void waiting_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (q.completed()) {
        finish(q, {});
        return;
    }
    if (o.answered() && o.reply.at(1).is_integer() && o.reply.at(1).integer() >= 0) {
        q.result->waiting_clients = static_cast<std::uint64_t>(o.reply.at(1).integer());
    }
    if (q.result->locked && !o.lost()) {
        next_step(q, clients_type);
    } else {
        finish(q, {});
    }
}

void clients_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (o.answered() && o.reply.is_text() && !q.completed()) {
        locate_holder(*q.result, o.reply.text());
    }
    finish(q, {});
}

void force_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (!o.answered()) {
        finish(q, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    if (!o.reply.is_integer()) {
        finish(q, errc::protocol_error);
        return;
    }
    // If the holder is one of this client's, it shall know at once.
    q.ctx.check_holds(*q.spec);
    const bool replayed = q.history.in_doubt();
    finish(q, {}, o.reply.integer() >= 0 || replayed);
}

}  // namespace

const pending_kind query::own_kind{.cancel = [](context&, pending& p, error_code why) {
    give_up_query(static_cast<query&>(p), why);
}};

query::query(caller c, context& h, impl::spec_ptr s, purpose p, lock_status* out) noexcept
    : pending{own_kind, c},
      wire::call{status_type},
      ctx{h},
      spec{std::move(s)},
      why{p},
      result{out},
      patience{this, &on_query_overdue} {}

void query_status(context& ctx, const impl::spec_ptr& spec, const status_options& options,
                  caller from, lock_status* result) {
    begin_query(ctx, spec, from, options.clients ? purpose::status_with_clients : purpose::status,
                result);
}

void force_unlock(context& ctx, const impl::spec_ptr& spec, caller from) {
    begin_query(ctx, spec, from, purpose::force, nullptr);
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
