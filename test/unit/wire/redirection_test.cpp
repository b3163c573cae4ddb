// SPDX-License-Identifier: BSL-1.0
#include "wire/redirection.hpp"

#include "wire/hash_slot.hpp"

#include <gtest/gtest.h>

namespace {

using conch::wire::hash_slot_of;
using conch::wire::read_redirection;

TEST(wire_hash_slot, is_that_of_redis) {
    EXPECT_EQ(hash_slot_of("123456789"), 0x31c3 % 16384) << "the specification's own example";
    EXPECT_EQ(hash_slot_of("foo"), 12182);
    EXPECT_EQ(hash_slot_of(""), 0);
    EXPECT_EQ(hash_slot_of("\xff\xfe"), hash_slot_of("a{\xff\xfe}b"));
}

TEST(wire_hash_slot, is_that_of_the_tag) {
    EXPECT_EQ(hash_slot_of("{user1000}.following"), hash_slot_of("user1000"));
    EXPECT_EQ(hash_slot_of("foo{{bar}}zap"), hash_slot_of("{bar"));
    EXPECT_EQ(hash_slot_of("foo{bar}{zap}"), hash_slot_of("bar"));
    EXPECT_EQ(hash_slot_of("a}b{c}d"), hash_slot_of("c"));
}

TEST(wire_hash_slot, is_that_of_all_where_there_is_no_tag) {
    for (const char* const key : {"foo{}{bar}", "foo{bar", "foo}bar"}) {
        EXPECT_NE(hash_slot_of(key), hash_slot_of("bar")) << key;
        EXPECT_NE(hash_slot_of(key), hash_slot_of("")) << key;
    }
}

TEST(wire_redirection, moved_is_from_now_on) {
    const auto r = read_redirection("MOVED 3999 127.0.0.1:6381");
    ASSERT_TRUE(r);
    EXPECT_FALSE(r->once);
    EXPECT_EQ(r->slot, 3999);
    EXPECT_EQ(r->to.text(), "127.0.0.1:6381");
}

TEST(wire_redirection, ask_is_for_this_once) {
    const auto r = read_redirection("ASK 0 ::1:6381");
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->once);
    EXPECT_EQ(r->to.text(), "[::1]:6381");
}

TEST(wire_redirection, a_host_may_be_missing) {
    const auto r = read_redirection("MOVED 16383 :6381");
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->to.host.empty());
}

TEST(wire_redirection, where_to_may_be_unknown) {
    for (const char* const words :
         {"MOVED 1 ?:6379", "ASK 1 ?:6379", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:"}) {
        const auto r = read_redirection(words);
        ASSERT_TRUE(r) << words;
        EXPECT_EQ(r->slot, 1) << words;
        EXPECT_EQ(r->to, conch::wire::address{}) << words;
    }
}

TEST(wire_redirection, anything_else_is_none) {
    for (const char* const words :
         {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 host", "MOVED 16384 h:1", "MOVED -1 h:1",
          "MOVED x h:1", "MOVED 1:2 h", "MOVEDX 1 h:1", "ERR MOVED 1 h:1", "moved 1 h:1"}) {
        EXPECT_FALSE(read_redirection(words)) << words;
    }
}

}  // namespace
