// SPDX-License-Identifier: BSL-1.0
#include "resp/reader.hpp"

#include "unit/resp/describe.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using conch::resp::limits;
using conch::resp::reader;
using conch::test::join;
using conch::test::read_all;
using status = conch::resp::reader::status;

status status_within(std::string_view bytes, const limits& l) {
    reader r{l};
    return r.parse(bytes);
}

/// `bytes` are an error for this reason, and were none one byte before their end.
void expect_error_at_last_byte(std::string_view bytes, const limits& l, std::string_view reason) {
    SCOPED_TRACE(bytes);
    EXPECT_EQ(status_within(bytes.substr(0, bytes.size() - 1), l), status::need_more);
    reader r{l};
    EXPECT_EQ(r.parse(bytes), status::error);
    EXPECT_EQ(std::string_view{r.reason()}, reason);
}

constexpr limits two_deep{.max_depth = 2};
constexpr limits of_16_bytes{.max_bytes = 16};
constexpr limits of_5_nodes{.max_nodes = 5};

constexpr std::string_view too_deep = "message too deep";
constexpr std::string_view too_large = "message too large";
constexpr std::string_view too_many = "too many values in a message";

TEST(resp_limits, aggregates_may_nest_to_the_depth_and_no_deeper) {
    EXPECT_EQ(status_within("*1\r\n*1\r\n:1\r\n", two_deep), status::message);
    expect_error_at_last_byte("*1\r\n*1\r\n*1\r\n", two_deep, too_deep);
    expect_error_at_last_byte("*1\r\n%1\r\n+a\r\n~0\r\n", two_deep, too_deep);
}

TEST(resp_limits, siblings_are_no_depth) {
    EXPECT_EQ(status_within("*3\r\n*1\r\n:1\r\n*1\r\n:2\r\n*0\r\n", two_deep), status::message);
}

TEST(resp_limits, attributes_are_depth) {
    EXPECT_EQ(status_within("|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n", two_deep), status::message);
    expect_error_at_last_byte("|1\r\n+a\r\n*1\r\n*1\r\n", two_deep, too_deep);
    expect_error_at_last_byte("|1\r\n|1\r\n|1\r\n", two_deep, too_deep);
}

TEST(resp_limits, a_depth_of_0_allows_plain_values_only) {
    constexpr limits flat{.max_depth = 0};
    EXPECT_EQ(status_within(":1\r\n", flat), status::message);
    EXPECT_EQ(status_within("*-1\r\n", flat), status::message);
    expect_error_at_last_byte("*0\r\n", flat, too_deep);
}

TEST(resp_limits, a_depth_that_a_node_can_not_hold_is_cut_to_255) {
    constexpr limits unlimited{.max_depth = 100'000};
    std::string bytes;
    for (int i = 0; i < 255; ++i) {
        bytes += "*1\r\n";
    }
    EXPECT_EQ(status_within(bytes + ":1\r\n", unlimited), status::message);
    expect_error_at_last_byte(bytes + "*1\r\n", unlimited, too_deep);
}

TEST(resp_limits, a_message_may_have_all_the_bytes_and_no_more) {
    for (const std::string bytes :
         {"+abc\r\n", ":1234\r\n", "_\r\n", "$3\r\nabc\r\n", "=6\r\ntxt:ab\r\n",
          "*2\r\n+ab\r\n$1\r\na\r\n", "%0\r\n", "|0\r\n|1\r\n+a\r\n+b\r\n+abc\r\n"}) {
        SCOPED_TRACE(bytes);
        const limits just_enough{.max_bytes = bytes.size()};
        EXPECT_EQ(status_within(bytes, just_enough), status::message);
        EXPECT_EQ(status_within(bytes + ":1\r\n", just_enough), status::message);
        const limits one_less{.max_bytes = bytes.size() - 1};
        EXPECT_EQ(read_all(bytes, {}, one_less).reason, too_large);
        EXPECT_EQ(read_all(bytes + ":1\r\n", {}, one_less).reason, too_large);
    }
}

TEST(resp_limits, bytes_behind_a_message_do_not_count) {
    const std::string stream = "+123456789\r\n+123456789\r\n+123456789\r\n";
    EXPECT_EQ(read_all(stream, {}, of_16_bytes).messages.size(), 3u);
}

TEST(resp_limits, a_blob_size_is_judged_before_the_blob_arrives) {
    constexpr limits of_17_bytes{.max_bytes = 17};
    EXPECT_EQ(status_within("$10\r\n", of_17_bytes), status::need_more);
    EXPECT_EQ(status_within("$10\r\nabcdefghij\r\n", of_17_bytes), status::message);
    expect_error_at_last_byte("$11\r\n", of_17_bytes, too_large);
    expect_error_at_last_byte("$12\r\n", of_17_bytes, too_large);
    expect_error_at_last_byte("$13\r\n", of_17_bytes, too_large);
    expect_error_at_last_byte("*1\r\n!7\r\n", of_16_bytes, too_large);
}

TEST(resp_limits, an_endless_line_is_judged_before_its_end_arrives) {
    expect_error_at_last_byte("+abcdefghijklmno", of_16_bytes, too_large);
    expect_error_at_last_byte(":000000000000000", of_16_bytes, too_large);
    expect_error_at_last_byte("*00000000000000\r", of_16_bytes, too_large);
    expect_error_at_last_byte("*1\r\n+abcdefghijk", of_16_bytes, too_large);
}

TEST(resp_limits, endless_attributes_are_too_large) {
    expect_error_at_last_byte("|0\r\n|0\r\n|0\r\n|0\r\n", of_16_bytes, too_large);
}

TEST(resp_limits, a_count_is_judged_before_the_children_arrive) {
    EXPECT_EQ(status_within("*4\r\n", of_5_nodes), status::need_more);
    EXPECT_EQ(status_within("*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", of_5_nodes), status::message);
    expect_error_at_last_byte("*5\r\n", of_5_nodes, too_many);
    expect_error_at_last_byte("~5\r\n", of_5_nodes, too_many);
    expect_error_at_last_byte(">5\r\n", of_5_nodes, too_many);
}

TEST(resp_limits, a_map_has_two_values_for_each_entry) {
    EXPECT_EQ(status_within("%2\r\n", of_5_nodes), status::need_more);
    expect_error_at_last_byte("%3\r\n", of_5_nodes, too_many);
    expect_error_at_last_byte("|3\r\n", of_5_nodes, too_many);
}

TEST(resp_limits, counts_add_up_over_a_message) {
    EXPECT_EQ(status_within("*2\r\n*2\r\n:1\r\n:1\r\n*0\r\n", of_5_nodes), status::message);
    expect_error_at_last_byte("*2\r\n*2\r\n:1\r\n:1\r\n*1\r\n", of_5_nodes, too_many);
    expect_error_at_last_byte("|1\r\n:1\r\n:1\r\n*3\r\n", of_5_nodes, too_many);
}

TEST(resp_limits, counts_begin_anew_with_each_message) {
    const std::string stream = "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n";
    EXPECT_EQ(read_all(stream, {}, of_5_nodes).messages.size(), 2u);
}

TEST(resp_limits, one_node_is_always_allowed) {
    constexpr limits none{.max_nodes = 0};
    EXPECT_EQ(status_within(":1\r\n", none), status::message);
    EXPECT_EQ(status_within("*0\r\n", none), status::message);
    expect_error_at_last_byte("*1\r\n", none, too_many);
}

TEST(resp_limits, the_defaults_hold_at_their_bounds) {
    const limits l;
    EXPECT_EQ(status_within(join("*", l.max_nodes - 1, "\r\n"), l), status::need_more);
    expect_error_at_last_byte(join("*", l.max_nodes, "\r\n"), l, too_many);
    const std::size_t header = 11;  // $16777203 CR LF
    EXPECT_EQ(status_within(join("$", l.max_bytes - header - 2, "\r\n"), l), status::need_more);
    expect_error_at_last_byte(join("$", l.max_bytes - header - 1, "\r\n"), l, too_large);
}

}  // namespace
