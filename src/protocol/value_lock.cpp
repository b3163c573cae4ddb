// SPDX-License-Identifier: BSL-1.0
#include "core/time.hpp"
#include "protocol/exclusive.hpp"

namespace conch::protocol {
namespace {

// SET NX would not find what an earlier copy of it took. It says nothing of the holder's lease, on
// which waiters rely.
wire::joint_script acquire_form(const acquire_request& r) {
    return r.plainly && !r.spec.fenced() ? wire::leaves_alone : exclusive::acquire_form(r);
}

void acquire_alone(const wire::call&, const acquire_request& r, resp::writer& w) {
    w.command(6).arg("SET").arg(r.spec.name());
    r.mine.write(w);
    w.arg("NX").arg("PX").arg(core::ceil_millis(r.lease));
}

acquire_answer read_acquire(const impl::lock_spec& spec, const resp::value& reply) {
    if (reply.is_null() && !spec.fenced()) {  // to SET NX
        return {.what = acquire_answer::kind::busy};
    }
    return exclusive::read_acquire(spec, reply);
}

constexpr lock_protocol with_plain_acquire(lock_protocol p) {
    p.acquire_form = &acquire_form;
    p.acquire_alone = &acquire_alone;
    p.read_acquire = &read_acquire;
    return p;
}

}  // namespace

// On the server: a string, the holder's field.
constinit const lock_protocol value_lock_protocol = with_plain_acquire(exclusive::protocol_of({
    .type_name = "conch::token_mutex",
    .channel_prefix = "conch_token_mutex_channel:{",
    .fence_key_prefix = "conch_token_mutex_fence:{",
    .acquire = {wire::script_id::value_acquire, wire::script_id::value_acquire_many},
    .release = {wire::script_id::value_release, wire::script_id::value_release_many},
    .renew = wire::script_id::value_renew,
    .nest = wire::script_id::value_nest,
    .status = wire::script_id::value_status,
}));

}  // namespace conch::protocol
