// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RIGHTS_HPP
#define CONCH_TEST_SUPPORT_RIGHTS_HPP

#include "support/server_version.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// The user of the ACL that conch needs, as the page on security has it: every client of the tests
/// with servers is this one unless it is about users, and what it may not do fails them.
inline constexpr std::string_view conch_user = "conch";
inline constexpr std::string_view conch_password = "pass-of-a-test";
/// Redis has such rights since 6.2.
inline bool is_of_channels(const std::string& right) {
    return right == "resetchannels" || right.starts_with('&');
}

/// What it may do, as the words of ACL SETUSER.
inline const std::vector<std::string>& conch_rights() {
    static const std::vector<std::string> all{
        "~*", "resetchannels", "&redisson_lock__channel:*", "&conch_token_mutex_channel:*",
        "&redisson_rwlock:*", "&redisson_sc:*", "&redisson_countdownlatch__channel__*",
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
        // deadlocks
        "+getrange",
        // read-write locks
        "+hget", "+hkeys",
        // fair locks
        "+llen", "+lindex", "+lpos", "+lrange", "+lrem", "+rpush", "+zcard", "+zrem",
        // locks that replicas must have
        "+wait",
        // rate limits
        "+incrby", "+exists", "+unlink", "+zadd", "+zscore", "+zrange", "+zrangebyscore",
        "+zremrangebyscore", "+zcount",
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

/// The words behind ACL SETUSER, or of a line "user" in a configuration.
inline std::vector<std::string> words_of_user(const std::vector<std::string>& rights) {
    std::vector<std::string> out{std::string{conch_user}, "on", '>' + std::string{conch_password}};
    out.insert(out.end(), rights.begin(), rights.end());
    return out;
}

/// For a status with `status_options::clients`.
inline std::vector<std::string> status_rights() { return {"+client|list", "+pubsub|numsub"}; }

/// For `conch ls` and `conch who`, as the page on operations has it.
inline std::vector<std::string> list_rights() {
    return {"+scan",   "+type",          "+time",     "+hscan",       "+hlen",         "+hget",
            "+pttl",   "+get",           "+getrange", "+llen",        "+lrange",       "+strlen",
            "+zrange", "+zrangebyscore", "+zcount",   "+client|list", "+pubsub|numsub"};
}

/// The arguments of a server that knows the user from the start, who may do this besides.
inline std::vector<std::string> arguments_for_user(const std::vector<std::string>& besides = {}) {
    std::vector<std::string> out = words_of_user(conch_rights());
    out.insert(out.begin(), "--user");
    for (const auto& more : {status_rights(), list_rights()}) {
        out.insert(out.end(), more.begin(), more.end());
    }
    out.insert(out.end(), besides.begin(), besides.end());
    return out;
}

/// At sentinels, and nothing else there.
inline std::vector<std::string> rights_at_sentinels() {
    return {"resetchannels",
            "&+switch-master",
            "+ping",
            "+subscribe",
            "+sentinel|get-master-addr-by-name",
            "+sentinel|master"};
}

inline std::vector<std::string> shard_rights() {
    return {"+pubsub|shardnumsub", "+ssubscribe", "+sunsubscribe", "+spublish"};
}

/// Also, in a cluster: what is added at the end is for the messages of a shard.
inline std::vector<std::string> cluster_rights() {
    std::vector<std::string> out{"+asking", "+cluster|slots"};
    if (server_has_shard_messages()) {
        const std::vector<std::string> more = shard_rights();
        out.insert(out.end(), more.begin(), more.end());
    }
    return out;
}

}  // namespace conch::test

#endif
