// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RIGHTS_HPP
#define CONCH_TEST_SUPPORT_RIGHTS_HPP

#include "support/server_version.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// The user of the ACL that conch needs, as the README has it: every client of the tests with one
/// server is this one, and what it may not do fails them. (The tests in `topology/` that are not
/// about rights have the user "default".)
inline constexpr std::string_view conch_user = "conch";
inline constexpr std::string_view conch_password = "pass-of-a-test";
/// Redis has such rights since 6.2.
inline bool is_of_channels(const std::string& right) {
    return right == "resetchannels" || right.starts_with('&');
}

/// What it may do, as the words of ACL SETUSER.
inline const std::vector<std::string>& conch_rights() {
    static const std::vector<std::string> all{"~*", "resetchannels", "&redisson_lock__channel:*",
                                              "&conch_token_mutex_channel:*",
                                              // every lock
                                              "+evalsha", "+eval", "+script|load", "+ping", "+pttl",
                                              "+pexpire", "+hset", "+hdel", "+hexists",
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
                                              "+incrby", "+exists", "+unlink", "+zadd", "+zscore",
                                              "+zrange", "+zrangebyscore", "+zremrangebyscore",
                                              // connections
                                              "+select", "+info", "+client|kill"};
    static const std::vector<std::string> rights = [] {
        std::vector<std::string> known = all;
        if (server_is_before(6, 2)) {
            std::erase_if(known, is_of_channels);
        }
        return known;
    }();
    return rights;
}

/// And in a cluster: the second line is for the messages of a shard.
inline std::vector<std::string> cluster_rights() {
    std::vector<std::string> out{"+role", "+cluster|slots", "+asking"};
    if (server_has_shard_messages()) {
        out.insert(out.end(), {"+pubsub|shardnumsub", "+ssubscribe", "+sunsubscribe", "+spublish"});
    }
    return out;
}

}  // namespace conch::test

#endif
