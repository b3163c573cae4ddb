// SPDX-License-Identifier: BSL-1.0
// The extras of a status: how many clients wait for the lock, and where its holder is.
#include "hold/querying.hpp"
#include "protocol/client_list.hpp"

#include <optional>
#include <utility>

namespace conch::lock {
namespace {

void encode_waiting(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    protocol::encode_waiting(*q.spec, q.home.sharded(), w);
}

void encode_clients(wire::call&, resp::writer& w) { protocol::encode_client_list(w); }

void clients_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (o.answered() && o.reply.is_text() && !q.completed()) {
        protocol::locate_holder(*q.result, o.reply.text());
    }
    q.home.end_query(q, {});
}

// Not asked for again: the answer may be so long that it was what broke the connection.
constexpr wire::call_type clients_type{
    .name = "client list",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &encode_clients,
    .done = &clients_done,
};

void waiting_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (q.completed()) {
        q.home.end_query(q, {});
        return;
    }
    if (const auto waiting = o.answered() ? protocol::read_waiting(o.reply) : std::nullopt) {
        q.result->waiting_clients = *waiting;
    }
    if (q.result->locked && !o.lost()) {
        q.home.next_step(q, clients_type);
    } else {
        q.home.end_query(q, {});
    }
}

constexpr wire::call_type waiting_type{
    .name = "waiting clients",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &encode_waiting,
    .done = &waiting_done,
};

}  // namespace

void ask_for_clients(query& q, lock_status s) {
    *q.result = std::move(s);
    q.answered = true;
    q.home.next_step(q, waiting_type);
}

}  // namespace conch::lock
