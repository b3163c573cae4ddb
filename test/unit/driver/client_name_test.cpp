// SPDX-License-Identifier: BSL-1.0
#include "driver/client_name.hpp"

#include <gtest/gtest.h>

namespace {

using conch::impl::client_name;

constexpr const char* id = "5c1e0a8e-0000-4000-8000-000000000001";

TEST(driver_client_name, has_host_process_and_the_beginning_of_the_id) {
    EXPECT_EQ(client_name("billing", "", "db-1.example.org", 4711, id),
              "billing:db-1.example.org:4711:5c1e0a8e");
}

TEST(driver_client_name, has_the_service_behind_what_is_given) {
    EXPECT_EQ(client_name("conch", "billing", "web-1", 4711, id),
              "conch:billing:web-1:4711:5c1e0a8e");
}

TEST(driver_client_name, has_only_characters_that_redis_accepts) {
    EXPECT_EQ(client_name("conch", "", "a b\n\x7f\xc3\xa9!~", 1, id), "conch:a-b----!~:1:5c1e0a8e");
}

TEST(driver_client_name, is_empty_if_none_is_wanted) {
    EXPECT_EQ(client_name("", "", "h", 1, id), "");
}

}  // namespace
