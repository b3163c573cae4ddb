// SPDX-License-Identifier: BSL-1.0
// The extras of a status: how many clients wait for the lock, and where its holder is.
#include "hold/client_list.hpp"
#include "hold/querying.hpp"

#include <cstdint>
#include <utility>

namespace conch::lock {
namespace {

void encode_waiting(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    if (protocol::has_places(*q.spec)) {
        w.command(2).arg("LLEN");
        protocol::write_name(w, q.spec->derived(q.spec->protocol().queue_prefix));
        return;
    }
    w.command(3).arg("PUBSUB").arg(q.home.sharded() ? "SHARDNUMSUB" : "NUMSUB");
    protocol::write_name(w, q.spec->channel());
}

void encode_clients(wire::call&, resp::writer& w) { w.command(2).arg("CLIENT").arg("LIST"); }

void clients_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (o.answered() && o.reply.is_text() && !q.completed()) {
        locate_holder(*q.result, o.reply.text());
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

// Answers with the channel's name and its number; or with the number of places.
void waiting_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (q.completed()) {
        q.home.end_query(q, {});
        return;
    }
    const resp::value waiting = o.reply.is_integer() ? o.reply : o.reply.at(1);
    if (o.answered() && waiting.is_integer() && waiting.integer() >= 0) {
        q.result->waiting_clients = static_cast<std::uint64_t>(waiting.integer());
    }
    if (q.result->locked && !o.lost()) {
        q.home.next_step(q, clients_type);
    } else {
        q.home.end_query(q, {});
    }
}

constexpr wire::call_type waiting_type{
    .name = "pubsub numsub",
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
