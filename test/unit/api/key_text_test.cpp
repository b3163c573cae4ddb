// SPDX-License-Identifier: BSL-1.0
// Arguments as parts of a key.
#include <conch/impl/key_text.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace named {

struct id {
    int number;
};
std::string to_string(id i) { return "#" + std::to_string(i.number); }

struct point {
    int x, y;
};
std::ostream& operator<<(std::ostream& out, point p) { return out << p.x << '/' << p.y; }

enum class colour : std::uint8_t { red = 65 };

}  // namespace named

namespace {

using conch::impl::joined_key;

TEST(key_text, strings_are_taken_as_they_are) {
    const char* const text = "c";
    EXPECT_EQ(joined_key("p", "a", std::string{"b"}, text, std::string_view{"d"}), "p:a:b:c:d");
    EXPECT_EQ(joined_key("p"), "p");
    EXPECT_EQ(joined_key("p", ""), "p:");
}

TEST(key_text, a_colon_within_a_part_is_as_good_as_one_between_two) {
    EXPECT_EQ(joined_key("p", "a:b", "c"), joined_key("p", "a", "b:c"));
}

TEST(key_text, numbers_are_decimal) {
    EXPECT_EQ(joined_key("p", -1, 7u, std::numeric_limits<std::uint64_t>::max()),
              "p:-1:7:18446744073709551615");
    EXPECT_EQ(joined_key("p", std::uint8_t{65}, 'A', true), "p:65:A:true");
    EXPECT_EQ(joined_key("p", 0.1, 1e300), "p:0.1:1e+300");
}

TEST(key_text, types_of_others_bring_their_text) {
    EXPECT_EQ(joined_key("p", named::id{3}, named::point{1, 2}, named::colour::red), "p:#3:1/2:65");
    const named::id three{3};
    EXPECT_EQ(joined_key("p", std::cref(three)), "p:#3");
}

TEST(key_text, what_points_elsewhere_is_no_part) {
    EXPECT_FALSE(conch::impl::key_streamed<int*>);
    EXPECT_FALSE(conch::impl::key_streamed<std::shared_ptr<int>>);
    EXPECT_FALSE(conch::impl::key_streamed<std::optional<int>>);
    EXPECT_TRUE(conch::impl::key_streamed<named::point>);
}

}  // namespace
