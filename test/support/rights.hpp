// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RIGHTS_HPP
#define CONCH_TEST_SUPPORT_RIGHTS_HPP

#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// The user of the ACL that conch needs, as the README has it: every client of the tests is this
/// one, and what it may not do fails them.
inline constexpr std::string_view conch_user = "conch";
inline constexpr std::string_view conch_password = "pass-of-a-test";
/// What it may do, as the words of ACL SETUSER.
inline const std::vector<std::string>& conch_rights() {
    static const std::vector<std::string> rights{
        "~*", "&redisson_lock__channel:*", "&conch_token_mutex_channel:*",
        // every lock
        "+evalsha", "+eval", "+script|load", "+ping", "+pttl", "+pexpire", "+hset", "+hdel",
        "+hexists",
        // waiting
        "+publish", "+subscribe", "+unsubscribe",
        // fencing tokens
        "+get", "+set", "+time",
        // who holds it
        "+hlen", "+hgetall",
        // plain locks
        "+del", "+strlen",
        // locks that replicas must have
        "+wait",
        // rate limits
        "+incrby", "+exists", "+unlink", "+zadd", "+zscore", "+zrange", "+zrangebyscore",
        "+zremrangebyscore",
        // connections
        "+select", "+info", "+client|kill"};
    return rights;
}

/// And in a cluster.
inline std::vector<std::string> cluster_rights() {
    return {"+role",       "+cluster|slots", "+asking",  "+pubsub|shardnumsub",
            "+ssubscribe", "+sunsubscribe",  "+spublish"};
}

}  // namespace conch::test

#endif
