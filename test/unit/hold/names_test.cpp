// SPDX-License-Identifier: BSL-1.0
#include "hold/names.hpp"

#include "unit/hold/holds_fixture.hpp"

#include <vector>

namespace conch::test {
namespace {

struct name_table : holds_fixture {
    lock::name_table names{};
};

TEST_F(name_table, a_name_is_found_by_another_spec_of_the_same_lock) {
    lock::lock_name a{slots, exclusive("a")};
    lock::lock_name b{slots, exclusive("b")};
    EXPECT_EQ(names.find(*exclusive("a")), nullptr);
    names.add(a);
    names.add(b);
    EXPECT_EQ(names.find(*exclusive("a")), &a);
    EXPECT_EQ(names.find(*exclusive("b")), &b);
    names.remove(a);
    EXPECT_EQ(names.find(*exclusive("a")), nullptr);
    EXPECT_FALSE(names.empty());
}

TEST_F(name_table, readers_and_writers_have_a_name_in_common) {
    lock::lock_name a{slots, reader("a")};
    names.add(a);
    EXPECT_EQ(names.find(*writer("a")), &a);
    EXPECT_EQ(names.find(*exclusive("a")), nullptr);
}

TEST_F(name_table, those_who_wait_for_replicas_have_a_name_apart) {
    const auto durable =
        exclusive("a", {.replicas = {.at_least = 1, .within = std::chrono::milliseconds{100}}});
    lock::lock_name a{slots, exclusive("a")};
    lock::lock_name d{slots, durable};
    names.add(a);
    names.add(d);
    EXPECT_EQ(names.find(*exclusive("a")), &a);
    EXPECT_EQ(names.find(*durable), &d);
}

TEST_F(name_table, who_stands_in_line_for_a_lock_has_a_name_each) {
    const auto fair = [](std::string_view name) {
        return impl::lock_spec::make(protocol::fair_protocol, name, {});
    };
    lock::lock_name one{slots, fair("a")};
    lock::lock_name two{slots, fair("a")};
    lock::lock_name other{slots, fair("b")};
    for (lock::lock_name* const n : {&one, &other, &two}) {
        names.add(*n);
    }
    std::vector<lock::lock_name*> of_a;
    names.for_each_of(*fair("a"), [&](lock::lock_name& n) { of_a.push_back(&n); });
    EXPECT_EQ(of_a, (std::vector{&one, &two})) << "in their order";
    EXPECT_EQ(names.list().size(), 3u);
    names.remove(one);
    names.remove(two);
    names.remove(other);
    EXPECT_TRUE(names.empty());
}

}  // namespace
}  // namespace conch::test
