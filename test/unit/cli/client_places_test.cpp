// SPDX-License-Identifier: BSL-1.0
// Where a holder is, by what CLIENT LIST says.
#include "cli/client_places.hpp"

#include <gtest/gtest.h>

namespace {

using namespace conch::cli;
using namespace std::chrono_literals;

constexpr const char* field_of_web = "5c1e0a8e-0000-4000-8000-000000000001:7";

client_places places_in(std::string_view list) {
    client_places out;
    out.add(list);
    return out;
}

TEST(client_places, a_connection_s_name_tells_service_host_and_process) {
    const client_places all = places_in(
        "id=3 addr=10.0.0.1:1 name= age=2 idle=1\n"
        "id=4 addr=10.0.0.7:51234 laddr=10.0.0.9:6379 fd=8 name=conch:billing:web-1:4711:5c1e0a8e "
        "age=7200 idle=3 flags=N\n");
    const client_place* const p = all.of(field_of_web);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->connection, "conch:billing:web-1:4711:5c1e0a8e");
    EXPECT_EQ(p->service, "billing");
    EXPECT_EQ(p->host, "web-1");
    EXPECT_EQ(p->pid, 4711);
    EXPECT_EQ(p->address, "10.0.0.7:51234");
    EXPECT_EQ(p->age, 7200s);
    EXPECT_EQ(p->idle, 3s);
    EXPECT_EQ(all.of("5c1e0a8f-0000-4000-8000-000000000001:7"), nullptr);
    EXPECT_EQ(all.of(""), nullptr);
}

TEST(client_places, a_permit_s_id_begins_as_the_client_s) {
    EXPECT_NE(places_in("name=conch:h:1:5c1e0a8e").of("5c1e0a8e000000000000000000010000"), nullptr);
}

TEST(client_places, what_stands_before_the_host_is_the_service) {
    EXPECT_EQ(places_in("name=conch:h:1:5c1e0a8e").of(field_of_web)->service, "");
    EXPECT_EQ(places_in("name=shop:h:1:5c1e0a8e").of(field_of_web)->service, "shop");
    EXPECT_EQ(places_in("name=conch-demo:h:1:5c1e0a8e").of(field_of_web)->service, "conch-demo");
}

TEST(client_places, other_names_are_nobody_s) {
    for (const char* const name :
         {"", ":", ":::", "conch:h:1:5c1e0a8", "conch:h:0:5c1e0a8e", "conch:h:x:5c1e0a8e",
          "conch::1:5c1e0a8e", "1:5c1e0a8e", "conch:h:-1:5c1e0a8e", "conch:h:1:5c1e0a8g"}) {
        EXPECT_EQ(places_in(std::string{"id=5 name="} + name + " age=1\n").of(field_of_web),
                  nullptr)
            << name;
    }
}

TEST(client_places, two_connections_of_one_process_are_one_place) {
    const client_places all =
        places_in("name=conch:h:1:5c1e0a8e age=5\nname=conch:h:1:5c1e0a8e age=50\n");
    ASSERT_NE(all.of(field_of_web), nullptr);
    EXPECT_EQ(all.of(field_of_web)->age, 50s);
}

TEST(client_places, nobody_is_named_where_two_processes_may_be_meant) {
    EXPECT_EQ(places_in("name=conch:h:1:5c1e0a8e\nname=conch:h:2:5c1e0a8e\n").of(field_of_web),
              nullptr);
}

}  // namespace
