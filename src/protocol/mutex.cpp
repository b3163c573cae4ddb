// SPDX-License-Identifier: BSL-1.0
#include "protocol/exclusive.hpp"

namespace conch::protocol {

// On the server: a hash of one field, the holder's, whose value is the depth. The names are spelled
// as Redisson spells them.
constinit const lock_protocol mutex_protocol = exclusive::protocol_of({
    .type_name = "conch::mutex",
    .channel_prefix = "redisson_lock__channel:{",
    .fence_key_prefix = "redisson_lock_token:{",
    .acquire = {wire::script_id::acquire, wire::script_id::acquire_many},
    .release = {wire::script_id::release, wire::script_id::release_many},
    .renew = wire::script_id::renew,
    .nest = wire::script_id::nest,
    .status = wire::script_id::status,
});

}  // namespace conch::protocol
