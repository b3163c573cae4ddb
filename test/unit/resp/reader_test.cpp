// SPDX-License-Identifier: BSL-1.0
#include "resp/reader.hpp"

#include "unit/resp/describe.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace {

using conch::resp::limits;
using conch::resp::reader;
using conch::test::describe;
using conch::test::join;
using conch::test::read_all;
using conch::test::transcript;
using status = conch::resp::reader::status;

/// The description of the one message that `bytes` are; else what went wrong.
std::string read_one(std::string_view bytes, const limits& l = {}) {
    const transcript t = read_all(bytes, {}, l);
    if (t.end == status::error) {
        return join("error: ", t.reason);
    }
    if (t.messages.size() != 1 || t.consumed != bytes.size()) {
        return join(t.messages.size(), " messages in ", t.consumed, " bytes");
    }
    return t.messages.front();
}

status status_of(std::string_view bytes, const limits& l = {}) {
    reader r{l};
    return r.parse(bytes);
}

/// Each is an error, alone and in front of anything else.
void expect_errors(std::initializer_list<std::string_view> all, std::string_view reason) {
    for (const std::string_view bytes : all) {
        SCOPED_TRACE(bytes);
        const transcript t = read_all(bytes);
        EXPECT_EQ(t.end, status::error);
        EXPECT_EQ(t.reason, reason);
        EXPECT_EQ(read_all(join(bytes, ":1\r\n+OK\r\n")), t);
    }
}

TEST(resp_reader, a_simple_string_is_its_line) {
    EXPECT_EQ(read_one("+OK\r\n"), "+2<OK>");
    EXPECT_EQ(read_one("+\r\n"), "+0<>");
}

TEST(resp_reader, a_simple_error_is_its_line) {
    EXPECT_EQ(read_one("-NOSCRIPT No matching script.\r\n"), "-28<NOSCRIPT No matching script.>");
}

TEST(resp_reader, an_integer_may_have_any_value_of_64_bits) {
    EXPECT_EQ(read_one(":0\r\n"), ":0");
    EXPECT_EQ(read_one(":-1\r\n"), ":-1");
    EXPECT_EQ(read_one(":+7\r\n"), ":7");
    EXPECT_EQ(read_one(":1234567890123456789\r\n"), ":1234567890123456789");
    EXPECT_EQ(read_one(":9223372036854775807\r\n"), ":9223372036854775807");
    EXPECT_EQ(read_one(":-9223372036854775808\r\n"), ":-9223372036854775808");
    EXPECT_EQ(read_one(":-0000000000000000000000012\r\n"), ":-12");
    EXPECT_EQ(read_one(":0000000000000000000000000\r\n"), ":0");
}

TEST(resp_reader, a_blob_string_may_hold_any_bytes) {
    EXPECT_EQ(read_one("$0\r\n\r\n"), "$0<>");
    EXPECT_EQ(read_one("$5\r\nhello\r\n"), "$5<hello>");
    EXPECT_EQ(read_one("$6\r\n\r\n$1\r\n\r\n"), "$6<\r\n$1\r\n>");
    const std::string zero{"$1\r\n\0\r\n", 7};
    EXPECT_EQ(read_one(zero), (std::string{"$1<\0>", 5}));
}

TEST(resp_reader, null_has_a_new_form_and_two_old_ones) {
    EXPECT_EQ(read_one("_\r\n"), "_");
    EXPECT_EQ(read_one("$-1\r\n"), "_");
    EXPECT_EQ(read_one("*-1\r\n"), "_");
    EXPECT_EQ(read_one("*3\r\n*-1\r\n$-1\r\n_\r\n"), "*[_ _ _]");
}

TEST(resp_reader, a_boolean_is_an_integer_of_1_or_0) {
    EXPECT_EQ(read_one("#t\r\n"), "#1");
    EXPECT_EQ(read_one("#f\r\n"), "#0");
}

TEST(resp_reader, a_double_keeps_its_text) {
    for (const std::string text : {"1", "-1", "+1", "10.25", "0.1e-7", "1E+20", "-3e5", "inf",
                                   "-inf", "nan", "-nan", "1.7976931348623157e+308"}) {
        EXPECT_EQ(read_one(join(",", text, "\r\n")), join(",", text.size(), "<", text, ">"));
    }
}

TEST(resp_reader, a_big_number_keeps_its_text) {
    EXPECT_EQ(read_one("(3492890328409238509324850943850943825024385\r\n"),
              "(43<3492890328409238509324850943850943825024385>");
    EXPECT_EQ(read_one("(-12\r\n"), "(3<-12>");
}

TEST(resp_reader, a_blob_error_is_its_bytes) {
    EXPECT_EQ(read_one("!10\r\nERR a\r\nb c\r\n"), "!10<ERR a\r\nb c>");
}

TEST(resp_reader, a_verbatim_string_is_its_bytes_without_the_format) {
    EXPECT_EQ(read_one("=15\r\ntxt:Some string\r\n"), "=11<Some string>");
    EXPECT_EQ(read_one("=4\r\nmkd:\r\n"), "=0<>");
}

TEST(resp_reader, aggregates_hold_their_children_in_order) {
    EXPECT_EQ(read_one("*2\r\n:1\r\n$1\r\na\r\n"), "*[:1 $1<a>]");
    EXPECT_EQ(read_one("~2\r\n:1\r\n:2\r\n"), "~[:1 :2]");
    EXPECT_EQ(read_one("%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n"), "%[+1<a> :1 +1<b> :2]");
    EXPECT_EQ(read_one(">2\r\n+message\r\n$1\r\n0\r\n"), ">[+7<message> $1<0>]");
}

TEST(resp_reader, aggregates_may_be_empty) {
    EXPECT_EQ(read_one("*0\r\n"), "*[]");
    EXPECT_EQ(read_one("%0\r\n"), "%[]");
    EXPECT_EQ(read_one("~0\r\n"), "~[]");
    EXPECT_EQ(read_one(">0\r\n"), ">[]");
    EXPECT_EQ(read_one("*2\r\n*0\r\n%0\r\n"), "*[*[] %[]]");
}

TEST(resp_reader, aggregates_nest) {
    EXPECT_EQ(read_one("*3\r\n*2\r\n:1\r\n%1\r\n+k\r\n~1\r\n:2\r\n:3\r\n*1\r\n*0\r\n"),
              "*[*[:1 %[+1<k> ~[:2]]] :3 *[*[]]]");
}

TEST(resp_reader, an_attribute_before_a_message_is_skipped_and_counts_to_its_size) {
    EXPECT_EQ(read_one("|1\r\n+ttl\r\n:3600\r\n:7\r\n"), ":7");
    EXPECT_EQ(read_one("|0\r\n:7\r\n"), ":7");
    EXPECT_EQ(read_one("|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:2\r\n$1\r\nx\r\n"), "$1<x>");
}

TEST(resp_reader, an_attribute_inside_an_aggregate_is_skipped) {
    EXPECT_EQ(read_one("*2\r\n:1\r\n|1\r\n+a\r\n+b\r\n:2\r\n"), "*[:1 :2]");
    EXPECT_EQ(read_one("%1\r\n|1\r\n+a\r\n+b\r\n+k\r\n|1\r\n+a\r\n+b\r\n:2\r\n"), "%[+1<k> :2]");
    EXPECT_EQ(read_one("*2\r\n|0\r\n*0\r\n|0\r\n*0\r\n"), "*[*[] *[]]");
}

TEST(resp_reader, an_attribute_before_a_push_is_skipped) {
    EXPECT_EQ(read_one("|1\r\n+a\r\n+b\r\n>1\r\n+x\r\n"), ">[+1<x>]");
}

TEST(resp_reader, whatever_an_attribute_holds_is_skipped) {
    EXPECT_EQ(
        read_one("|2\r\n*2\r\n:1\r\n$-1\r\n%1\r\n+k\r\n*0\r\n|1\r\n+b\r\n:2\r\n+c\r\n#t\r\n:9\r\n"),
        ":9");
}

TEST(resp_reader, an_attribute_without_a_value_is_not_yet_a_message) {
    EXPECT_EQ(status_of("|1\r\n+a\r\n+b\r\n"), status::need_more);
    EXPECT_EQ(status_of("|0\r\n"), status::need_more);
    EXPECT_EQ(status_of("*1\r\n|1\r\n+a\r\n+b\r\n"), status::need_more);
}

TEST(resp_reader, messages_in_one_buffer_come_one_by_one) {
    const std::string_view data = ":1\r\n>1\r\n+x\r\n$1\r\na\r\n:2";
    reader r;
    ASSERT_EQ(r.parse(data), status::message);
    EXPECT_EQ(r.size(), 4u);
    EXPECT_EQ(describe(r.get(data)), ":1");
    r.next();
    ASSERT_EQ(r.parse(data.substr(4)), status::message);
    EXPECT_EQ(r.size(), 8u);
    EXPECT_EQ(describe(r.get(data.substr(4))), ">[+1<x>]");
    r.next();
    ASSERT_EQ(r.parse(data.substr(12)), status::message);
    EXPECT_EQ(describe(r.get(data.substr(12))), "$1<a>");
    r.next();
    EXPECT_EQ(r.parse(data.substr(19)), status::need_more);
}

TEST(resp_reader, nothing_is_not_a_message) { EXPECT_EQ(status_of(""), status::need_more); }

TEST(resp_reader, a_message_stays_found_until_next) {
    reader r;
    ASSERT_EQ(r.parse(":1\r\n:2\r\n"), status::message);
    EXPECT_EQ(r.parse(":1\r\n:2\r\n"), status::message);
    EXPECT_EQ(r.size(), 4u);
}

TEST(resp_reader, bytes_already_parsed_are_not_looked_at_again) {
    reader r;
    ASSERT_EQ(r.parse("*3\r\n:1\r\n$9\r\nabc"), status::need_more);
    const std::string_view changed = "???????????????abcdefghi\r\n:2\r\n";
    ASSERT_EQ(r.parse(changed.substr(3)), status::message);
    EXPECT_EQ(describe(r.get(changed.substr(3))), "*[:1 $9<abcdefghi> :2]");
}

TEST(resp_reader, bytes_without_a_line_end_are_not_searched_again) {
    reader r;
    ASSERT_EQ(r.parse("+abcdef"), status::need_more);
    const std::string_view changed = "+a\r\ndefghi\r\n";  // a second search would stop at the first
    ASSERT_EQ(r.parse(changed.substr(0, 8)), status::need_more);
    r.parse(changed);
    EXPECT_EQ(std::string{r.reason()}, "line feed without carriage return");
}

TEST(resp_reader, an_unknown_type_is_an_error_before_its_line_ends) {
    for (const std::string_view bytes : {"x", "\r", "\n", " ", "A1\r\n", "*1\r\n@", "\xff"}) {
        SCOPED_TRACE(bytes);
        const transcript t = read_all(bytes);
        EXPECT_EQ(t.end, status::error);
        EXPECT_EQ(t.reason, "unknown type");
    }
    EXPECT_EQ(status_of(std::string_view{"\0", 1}), status::error);
}

TEST(resp_reader, a_streamed_value_is_an_error) {
    expect_errors(
        {"$?\r\n", "!?\r\n", "*?\r\n", "%?\r\n", "~?\r\n", ">?\r\n", "|?\r\n", ";4\r\n", ".\r\n"},
        "streamed values are not supported");
}

TEST(resp_reader, a_malformed_integer_is_an_error) {
    expect_errors({":\r\n", ":-\r\n", ":+\r\n", ":--1\r\n", ":+-1\r\n", ": 1\r\n", ":1 \r\n",
                   ":1a\r\n", ":0x1\r\n", ":1.0\r\n", ":1\n\r\n"},
                  "malformed number");
}

TEST(resp_reader, an_integer_beyond_64_bits_is_an_error) {
    expect_errors(
        {":9223372036854775808\r\n", ":-9223372036854775809\r\n", ":18446744073709551616\r\n",
         ":18446744073709551617\r\n", ":100000000000000000000000000000000\r\n"},
        "malformed number");
}

TEST(resp_reader, a_malformed_double_is_an_error) {
    expect_errors({",\r\n", ",-\r\n", ",.5\r\n", ",1.\r\n", ",1.e5\r\n", ",1e\r\n", ",1e+\r\n",
                   ",1.5.5\r\n", ",infinity\r\n", ",in\r\n", ",0x1\r\n", ",1 \r\n", ",e5\r\n"},
                  "malformed number");
}

TEST(resp_reader, a_malformed_big_number_is_an_error) {
    expect_errors({"(\r\n", "(-\r\n", "(1.5\r\n", "(1a\r\n", "(a\r\n"}, "malformed number");
}

TEST(resp_reader, a_malformed_boolean_or_null_is_an_error) {
    expect_errors({"#\r\n", "#1\r\n", "#T\r\n", "#tt\r\n"}, "malformed boolean");
    expect_errors({"_x\r\n", "_ \r\n", "_-1\r\n"}, "malformed null");
}

TEST(resp_reader, a_malformed_size_is_an_error) {
    for (const char type : std::string_view{"$!=*%~>|"}) {
        for (const std::string_view size :
             {"", "a", "1a", " 1", "+1", "-0", "-2", "--1", "1.0", "??", "18446744073709551616",
              "99999999999999999999999"}) {
            const std::string bytes = join(type, size, "\r\n");
            expect_errors({bytes}, "malformed size");
        }
    }
}

TEST(resp_reader, a_size_of_minus_1_is_null_for_blob_strings_and_arrays_only) {
    expect_errors({"!-1\r\n", "=-1\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n", "|-1\r\n", "$-01\r\n"},
                  "malformed size");
}

TEST(resp_reader, a_count_that_overflows_is_an_error) {
    expect_errors({"*4294967296\r\n", "*9223372036854775808\r\n", "*9999999999999999999\r\n",
                   "%2147483648\r\n", "%9223372036854775808\r\n", "|9223372036854775808\r\n",
                   "*2\r\n*9999999999999999999\r\n"},
                  "too many values in a message");
    expect_errors({"$4294967296\r\n", "$9999999999999999999\r\n"}, "message too large");
}

TEST(resp_reader, a_blob_without_a_line_end_behind_it_is_an_error) {
    expect_errors({"$1\r\nabc", "$1\r\na\r\r", "$1\r\na\n\r", "$1\r\nax\n", "$0\r\n$0\r\n",
                   "!1\r\nab\r\n", "=5\r\ntxt:ab\r\n"},
                  "blob without a line end behind it");
}

TEST(resp_reader, a_verbatim_string_without_a_format_is_an_error) {
    expect_errors({"=0\r\n\r\n", "=3\r\ntxt\r\n", "=5\r\nabcde\r\n", "=5\r\ntx:ab\r\n"},
                  "verbatim string without a format");
}

TEST(resp_reader, a_line_end_is_both_bytes) {
    expect_errors({"+a\rb\r\n", ":1\r1\r\n", "$1\rx", "*1\r\r\n"},
                  "carriage return without line feed");
    expect_errors({"+a\nb\r\n", "-\n\r\n"}, "line feed without carriage return");
}

TEST(resp_reader, a_push_inside_another_value_is_an_error) {
    expect_errors({"*1\r\n>1\r\n:1\r\n", "|1\r\n+a\r\n>1\r\n:1\r\n:1\r\n"},
                  "push inside another value");
}

TEST(resp_reader, an_error_stays_until_reset) {
    reader r;
    ASSERT_EQ(r.parse("x"), status::error);
    EXPECT_EQ(r.parse(":1\r\n"), status::error);
    r.next();
    EXPECT_EQ(r.parse(":1\r\n"), status::error);
    EXPECT_EQ(std::string{r.reason()}, "unknown type");
    r.reset();
    EXPECT_EQ(std::string{r.reason()}, "");
    EXPECT_EQ(r.parse(":1\r\n"), status::message);
}

TEST(resp_reader, reset_forgets_half_a_message) {
    for (const std::string_view half :
         {"*2\r\n:1\r\n", "|1\r\n+a\r\n", "$5\r\nhe", "+abcdefghijk"}) {
        SCOPED_TRACE(half);
        reader r;
        ASSERT_EQ(r.parse(half), status::need_more);
        r.reset();
        const std::string_view data = "*1\r\n:1\r\n";
        ASSERT_EQ(r.parse(data), status::message);
        EXPECT_EQ(r.size(), data.size());
        EXPECT_EQ(describe(r.get(data)), "*[:1]");
    }
}

}  // namespace
