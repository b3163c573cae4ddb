// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_SERVER_VERSION_HPP
#define CONCH_TEST_SUPPORT_SERVER_VERSION_HPP

namespace conch::test {

/// Whether the `redis-server` of these tests, the first in $PATH, is older than this. Throws if
/// there is none.
bool server_is_before(int major, int minor = 0);
/// Whether it knows SPUBLISH, SSUBSCRIBE and PUBSUB SHARDNUMSUB.
inline bool server_has_shard_messages() { return !server_is_before(7); }

}  // namespace conch::test

#endif
