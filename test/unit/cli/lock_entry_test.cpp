// SPDX-License-Identifier: BSL-1.0
// What tells a lock's key from a stranger's, and a holder from its connection.
#include "cli/lock_entry.hpp"
#include "cli/asking.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch;
using namespace conch::cli;
using namespace std::chrono_literals;

const std::string client_uuid = "5c1e0a8e-0000-4000-8000-000000000001";

TEST(lock_entry, a_field_of_a_lock_is_a_uuid_and_a_number) {
    EXPECT_TRUE(is_lock_field(client_uuid + ":1"));
    EXPECT_TRUE(is_lock_field(client_uuid + ":18446744073709551615"));
    EXPECT_TRUE(is_lock_field(client_uuid + ":7:write"));
    EXPECT_TRUE(is_lock_field("5C1E0A8E-0000-4000-8000-00000000000F:1"));
    for (const std::string& other :
         {std::string{}, client_uuid, client_uuid + ":", client_uuid + ":x",
          client_uuid + ":1:", client_uuid + ":1:read", client_uuid + ":write",
          client_uuid + ":123456789012345678901", "x" + client_uuid.substr(1) + ":1",
          client_uuid + "0:1", std::string{"mode"}, client_uuid + ": 1"}) {
        EXPECT_FALSE(is_lock_field(other)) << other;
    }
}

TEST(lock_entry, a_semaphores_name_is_in_the_key_of_its_permits) {
    for (const std::string name : {"crawler", "a{b}c", "a:timeout"}) {
        EXPECT_EQ(semaphore_of(key_of_permits_out(name)), name);
    }
    EXPECT_EQ(key_of_permits_out("crawler"), "{crawler}:timeout");
    for (const std::string other : {"crawler:timeout", ":timeout", "{crawler}", "timeout", ""}) {
        EXPECT_EQ(semaphore_of(other), "") << other;
    }
}

TEST(lock_entry, permits_are_told_by_their_number) {
    EXPECT_EQ(permits_out(1, std::nullopt), "1 permit is out");
    EXPECT_EQ(permits_out(2, std::nullopt), "2 permits are out");
    EXPECT_EQ(permits_out(1, 4), "1 of 4 permits is out");
    EXPECT_EQ(permits_out(2, 4), "2 of 4 permits are out");
    EXPECT_EQ(permits_out(0, 4), "0 of 4 permits are out");
    EXPECT_EQ(permits_out(0, 1), "0 of 1 permit is out");
    EXPECT_EQ(permits_out(1, 1), "1 of 1 permit is out");
}

TEST(lock_entry, names_are_derived_as_redisson_does) {
    EXPECT_EQ(derived_key("redisson_rwlock", "a"), "redisson_rwlock:{a}");
    EXPECT_EQ(derived_key("redisson_rwlock", "a{b}"), "redisson_rwlock:a{b}");
}

TEST(lock_entry, a_string_is_a_lock_a_counter_a_limit_or_a_strangers) {
    EXPECT_EQ(kind_of_string(client_uuid + ":1", true), entry_kind::plain);
    EXPECT_EQ(kind_of_string(client_uuid + ":1", false), entry_kind::plain);
    EXPECT_EQ(kind_of_string("0f3a9b1c2d4e5f60718293a4b5c6d7e8", true), entry_kind::plain);
    EXPECT_EQ(kind_of_string("0f3a9b1c2d4e5f60718293a4b5c6d7e8", false), std::nullopt);
    EXPECT_EQ(kind_of_string("3", false), entry_kind::counter);
    EXPECT_EQ(kind_of_string("3", true), entry_kind::rate_limit);
    EXPECT_EQ(kind_of_string("1789000000000000:0:100:60000:100", true), entry_kind::rate_limit);
    EXPECT_EQ(kind_of_string("", true), std::nullopt);
    EXPECT_EQ(kind_of_string("{\"name\": \"a longer text, which is no token 1\"}", true),
              std::nullopt);
}

TEST(lock_entry, a_fence_that_is_a_time_tells_when_it_was_taken) {
    constexpr std::int64_t now = 1'789'000'000'000'000;
    EXPECT_EQ(age_of_fence(1'788'999'940'000'000, now), 60s);
    EXPECT_EQ(age_of_fence(1'789'000'000'000'000, now), 0s);
    EXPECT_EQ(age_of_fence(1'789'000'000'000'001, now), std::nullopt) << "the clock went back";
    EXPECT_EQ(age_of_fence(42, now), std::nullopt) << "Redisson counts from 1";
    EXPECT_EQ(age_of_fence(0, now), std::nullopt);
}

server_reply text_reply(std::string t) { return {server_reply::kind::text, std::move(t), 0, {}}; }
server_reply number_reply(std::int64_t n) { return {server_reply::kind::number, {}, n, {}}; }
server_reply list_reply(std::vector<server_reply> l) {
    return {server_reply::kind::list, {}, 0, std::move(l)};
}

TEST(lock_entry, each_master_of_a_cluster_is_asked_once) {
    const auto range = [](std::int64_t first, std::int64_t last, const std::string& id) {
        return list_reply(
            {number_reply(first), number_reply(last),
             list_reply({text_reply("127.0.0.1"), number_reply(7000), text_reply(id)})});
    };
    const std::vector<master> all = masters_in(
        list_reply({range(0, 99, "one"), range(100, 16000, "two"), range(16001, 16383, "one")}));
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].hash_slot, 0);
    EXPECT_EQ(all[1].hash_slot, 100);
    EXPECT_NE(all, masters_in(list_reply({range(0, 99, "one"), range(100, 16383, "two")})));
}

TEST(lock_entry, what_is_no_range_of_hash_slots_is_left_out) {
    EXPECT_TRUE(masters_in({}).empty());
    EXPECT_TRUE(masters_in(text_reply("OK")).empty());
    EXPECT_TRUE(
        masters_in(list_reply({list_reply({number_reply(16384), number_reply(1),
                                           list_reply({text_reply("h"), number_reply(1)})}),
                               list_reply({text_reply("0"), number_reply(1)}), number_reply(1)}))
            .empty());
}

}  // namespace
