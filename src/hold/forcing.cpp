// SPDX-License-Identifier: BSL-1.0
// A forced release: takes the lock from the holder that was read, and from no other.
#include "hold/querying.hpp"
#include "wire/server_error.hpp"

#include <utility>

namespace conch::lock {
namespace {

void encode_force(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const query&>(c);
    protocol::encode_release(c,
                             {.spec = *q.spec,
                              .holder = {.text = q.holder},
                              .sharded = q.home.sharded(),
                              .lock_key_only = protocol::has_places(*q.spec) && !c.type->divisible},
                             w);
}

extern const wire::call_type force_type;

void force_done(wire::call& c, const wire::outcome& o) {
    auto& q = static_cast<query&>(c);
    if (o.refused() && c.type->divisible && wire::is_divided(o.reply.text())) {
        // Those in line find out by asking again.
        const wire::call_history before = q.history;
        q.home.next_step(q, force_type);
        q.history.keep_doubt(before);
        return;
    }
    if (!o.answered()) {
        q.home.end_query(q, o.lost() ? errc::not_connected : wire::to_errc(o.reply.text()));
        return;
    }
    using kind = protocol::release_answer::kind;
    const kind answer = q.spec->protocol().read_release(o.reply).what;
    if (answer == kind::unintelligible) {
        q.home.end_query(q, errc::protocol_error);
        return;
    }
    // If the holder is one of this client's, it shall know at once.
    q.home.check_holds(q);
    const bool replayed = q.history.in_doubt();
    q.home.end_query(q, {}, answer == kind::released || replayed);
}

// Names the holder that was read, so that a replay never hits the next one.
constexpr wire::call_type force_type{
    .name = "force unlock",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode = &encode_force,
    .done = &force_done,
};

// While its hash slot moves, a lock and its line may be at two servers.
constexpr wire::call_type line_force_type = [] {
    wire::call_type t = force_type;
    t.divisible = true;
    return t;
}();

}  // namespace

void release_holder(query& q, lock_status s) {
    if (s.locked) {
        q.holder = std::move(s.holder);
        q.home.next_step(q, protocol::has_places(*q.spec) ? line_force_type : force_type);
    } else {
        q.home.end_query(q, {}, false);
    }
}

}  // namespace conch::lock
