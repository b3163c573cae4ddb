// SPDX-License-Identifier: BSL-1.0
#include "wire/server_error.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string_view>

namespace {

using conch::errc;
using conch::wire::classify;
using conch::wire::refusal;
using conch::wire::to_errc;

struct row {
    std::string_view words;
    errc code;
    refusal kind;
};

void PrintTo(const row& r, std::ostream* out) { *out << r.words; }

class wire_server_error : public testing::TestWithParam<row> {};

TEST_P(wire_server_error, has_a_code_and_a_class) {
    EXPECT_EQ(to_errc(GetParam().words), GetParam().code);
    EXPECT_EQ(classify(GetParam().words), GetParam().kind);
}

// The words of Redis 6.2 and 7.0, and what a script's error is wrapped in.
constexpr row rows[] = {
    {"NOSCRIPT No matching script. Please use EVAL.", errc::server_error, refusal::no_script},
    {"LOADING Redis is loading the dataset in memory", errc::server_unavailable, refusal::passing},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     errc::server_unavailable, refusal::passing},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     errc::server_unavailable, refusal::passing},
    {"ERR max number of clients reached", errc::server_unavailable, refusal::passing},
    {"ERR max number of clients + cluster connections reached", errc::server_unavailable,
     refusal::passing},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
     "disk.",
     errc::server_unavailable, refusal::passing},
    {"ERR Error running script (call to f_abc): @user_script:9: -MISCONF Redis is configured to",
     errc::server_unavailable, refusal::passing},
    {"DENIED Redis is running in protected mode because protected mode is enabled",
     errc::permission_denied, refusal::lasting},
    {"CLUSTERDOWN The cluster is down", errc::server_unavailable, refusal::passing},
    {"TRYAGAIN Multiple keys request during rehashing of slot", errc::server_unavailable,
     refusal::passing},
    {"ERR Script attempted to access a non local key in a cluster node script: abc, "
     "on @user_script:22.",
     errc::server_unavailable, refusal::passing},
    {"ERR Error running script (call to f_abc): @user_script:22: @user_script: 22: "
     "Lua script attempted to access a non local key in a cluster node",
     errc::server_unavailable, refusal::passing},
    {"READONLY You can't write against a read only replica.", errc::read_only, refusal::lasting},
    {"READONLY You can't write against a read only replica. script: abc, on @user_script:1.",
     errc::read_only, refusal::lasting},
    {"ERR Error running script (call to f_abc): @user_script:5: "
     "-READONLY You can't write against a read only replica.",
     errc::read_only, refusal::lasting},
    {"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a "
     "replica is configured to be writable (which is not the default) writes to replicas are just "
     "local and are not propagated.",
     errc::read_only, refusal::lasting},
    {"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
     errc::server_unavailable, refusal::passing},
    {"OOM command not allowed when used memory > 'maxmemory'.", errc::out_of_memory,
     refusal::lasting},
    {"ERR Error running script (call to f_abc): @user_script:9: "
     "-OOM command not allowed when used memory > 'maxmemory'.",
     errc::out_of_memory, refusal::lasting},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::wrong_type,
     refusal::lasting},
    {"WRONGTYPE Operation against a key holding the wrong kind of value "
     "script: abc, on @user_script:3.",
     errc::wrong_type, refusal::lasting},
    {"ERR Error running script (call to f_abc): @user_script:3: "
     "WRONGTYPE Operation against a key holding the wrong kind of value",
     errc::wrong_type, refusal::lasting},
    {"NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
     errc::permission_denied, refusal::lasting},
    {"NOPERM User conch has no permissions to run the 'evalsha' command", errc::permission_denied,
     refusal::lasting},
    {"ERR The user executing the script can't run this command or subcommand script: abc, "
     "on @user_script:3.",
     errc::permission_denied, refusal::lasting},
    {"ERR Error running script (call to f_abc): @user_script:3: "
     "The user executing the script can't run this command or subcommand",
     errc::permission_denied, refusal::lasting},
    {"ERR ACL failure in script: No permissions to access a key script: abc, on @user_script:3.",
     errc::permission_denied, refusal::lasting},
    {"ERR ACL failure in script: User conch has no permissions to run the 'get' command "
     "script: on @user_script:3.",
     errc::permission_denied, refusal::lasting},
    {"NOAUTH Authentication required.", errc::authentication_failed, refusal::lasting},
    {"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
     "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
     "RESP protocol version at the same time",
     errc::authentication_failed, refusal::lasting},
    {"WRONGPASS invalid username-password pair or user is disabled.", errc::authentication_failed,
     refusal::lasting},
    {"NOPROTO unsupported protocol version", errc::server_too_old, refusal::lasting},
    {"ERR unknown command `HELLO`, with args beginning with: `3`, ", errc::server_too_old,
     refusal::lasting},
    {"ERR unknown command 'HELLO', with args beginning with: '3' ", errc::server_too_old,
     refusal::lasting},
    {"ERR DB index is out of range", errc::server_error, refusal::lasting},
    {"", errc::server_error, refusal::lasting},
};

INSTANTIATE_TEST_SUITE_P(of_redis, wire_server_error, testing::ValuesIn(rows));

TEST(wire_server_error, a_word_that_merely_begins_like_busy_is_not_busy) {
    EXPECT_EQ(classify("BUSYKEY Target key name already exists."), refusal::lasting);
    EXPECT_EQ(classify("BUSYGROUP Consumer Group name already exists"), refusal::lasting);
}

TEST(wire_server_error, keys_of_several_hash_slots_are_refused_in_several_words) {
    using conch::wire::crosses_hash_slots;
    EXPECT_TRUE(crosses_hash_slots("CROSSSLOT Keys in request don't hash to the same slot"));
    EXPECT_TRUE(crosses_hash_slots("CROSSSLOT in a proxy's own words"));
    EXPECT_TRUE(crosses_hash_slots("ERR eval/evalsha command keys must be in same slot"));
    EXPECT_FALSE(crosses_hash_slots("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_FALSE(crosses_hash_slots("MOVED 866 127.0.0.1:7002"));
}

}  // namespace
