// SPDX-License-Identifier: BSL-1.0
#include "resp/value.hpp"

#include "unit/resp/describe.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

using conch::resp::kind;
using conch::resp::reader;
using conch::resp::value;
using conch::test::describe;

/// A message that lives as long as this does.
class parsed {
public:
    explicit parsed(std::string bytes) : bytes_{std::move(bytes)} {
        if (reader_.parse(bytes_) != reader::status::message) {
            throw std::invalid_argument{bytes_};
        }
    }

    value get() const { return reader_.get(bytes_); }

private:
    std::string bytes_;
    reader reader_;
};

TEST(resp_value, a_value_without_a_message_is_null) {
    const value v;
    EXPECT_TRUE(v.is_null());
    EXPECT_EQ(v.type(), kind::null);
    EXPECT_EQ(v.size(), 0u);
    EXPECT_EQ(v.text(), "");
    EXPECT_EQ(v.integer(), 0);
    EXPECT_TRUE(v.find("a").is_null());
}

TEST(resp_value, errors_are_simple_or_blob_errors) {
    EXPECT_TRUE(parsed{"-ERR a\r\n"}.get().is_error());
    EXPECT_TRUE(parsed{"!5\r\nERR a\r\n"}.get().is_error());
    for (const char* other :
         {"+a\r\n", "$1\r\na\r\n", ":1\r\n", "_\r\n", "#t\r\n", "*1\r\n-ERR a\r\n"}) {
        EXPECT_FALSE(parsed{other}.get().is_error()) << other;
    }
}

TEST(resp_value, texts_are_simple_blob_and_verbatim_strings) {
    for (const char* text : {"+a\r\n", "$1\r\na\r\n", "=5\r\ntxt:a\r\n"}) {
        EXPECT_TRUE(parsed{text}.get().is_text()) << text;
    }
    for (const char* other : {"-a\r\n", "!1\r\na\r\n", ":1\r\n", ",1\r\n", "(1\r\n", "_\r\n",
                              "#t\r\n", "*0\r\n", "%0\r\n"}) {
        EXPECT_FALSE(parsed{other}.get().is_text()) << other;
    }
}

TEST(resp_value, aggregates_are_arrays_maps_sets_and_pushes) {
    for (const char* aggregate : {"*0\r\n", "%0\r\n", "~0\r\n", ">0\r\n"}) {
        EXPECT_TRUE(parsed{aggregate}.get().is_aggregate()) << aggregate;
    }
    for (const char* other : {"+a\r\n", "*-1\r\n", "$-1\r\n", ":1\r\n"}) {
        EXPECT_FALSE(parsed{other}.get().is_aggregate()) << other;
    }
}

TEST(resp_value, null_and_integer_are_only_themselves) {
    EXPECT_TRUE(parsed{"_\r\n"}.get().is_null());
    EXPECT_FALSE(parsed{"$0\r\n\r\n"}.get().is_null());
    EXPECT_TRUE(parsed{":0\r\n"}.get().is_integer());
    EXPECT_FALSE(parsed{"#t\r\n"}.get().is_integer());
    EXPECT_FALSE(parsed{"(1\r\n"}.get().is_integer());
}

TEST(resp_value, text_is_empty_for_what_has_none) {
    for (const char* other : {":1\r\n", "_\r\n", "#t\r\n", "*1\r\n+a\r\n", "%1\r\n+a\r\n+b\r\n"}) {
        EXPECT_EQ(parsed{other}.get().text(), "") << other;
    }
}

TEST(resp_value, text_is_there_for_errors_and_numbers_too) {
    EXPECT_EQ(parsed{"-ERR a\r\n"}.get().text(), "ERR a");
    EXPECT_EQ(parsed{"!5\r\nERR a\r\n"}.get().text(), "ERR a");
    EXPECT_EQ(parsed{",1.5\r\n"}.get().text(), "1.5");
    EXPECT_EQ(parsed{"(15\r\n"}.get().text(), "15");
}

TEST(resp_value, integer_is_0_for_what_is_neither_integer_nor_boolean) {
    EXPECT_EQ(parsed{":-5\r\n"}.get().integer(), -5);
    EXPECT_EQ(parsed{"#t\r\n"}.get().integer(), 1);
    EXPECT_EQ(parsed{"#f\r\n"}.get().integer(), 0);
    for (const char* other : {"+5\r\n", ",5\r\n", "(5\r\n", "*1\r\n:5\r\n", "$1\r\n5\r\n"}) {
        EXPECT_EQ(parsed{other}.get().integer(), 0) << other;
    }
}

TEST(resp_value, size_counts_direct_children_and_both_halves_of_a_map_entry) {
    EXPECT_EQ(parsed{"*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n"}.get().size(), 2u);
    EXPECT_EQ(parsed{"%1\r\n+a\r\n*1\r\n:1\r\n"}.get().size(), 2u);
    EXPECT_EQ(parsed{"$3\r\nabc\r\n"}.get().size(), 0u);
}

TEST(resp_value, a_child_is_found_behind_others_with_children) {
    const parsed m{"*4\r\n*2\r\n:1\r\n*1\r\n:2\r\n%1\r\n+k\r\n~0\r\n*0\r\n+last\r\n"};
    EXPECT_EQ(describe(m.get().at(0)), "*[:1 *[:2]]");
    EXPECT_EQ(describe(m.get().at(0).at(1)), "*[:2]");
    EXPECT_EQ(describe(m.get().at(1)), "%[+1<k> ~[]]");
    EXPECT_EQ(describe(m.get().at(2)), "*[]");
    EXPECT_EQ(describe(m.get().at(3)), "+4<last>");
}

TEST(resp_value, beyond_its_last_child_is_a_null) {
    for (const char* message : {"*0\r\n", "*1\r\n:1\r\n", "%1\r\n+k\r\n:1\r\n", ":5\r\n", "_\r\n",
                                "$3\r\nabc\r\n", "*2\r\n*1\r\n:1\r\n:2\r\n"}) {
        const parsed m{message};
        const auto v = m.get();
        for (const std::size_t i : {v.size(), v.size() + 1, std::size_t{1'000'000}}) {
            EXPECT_TRUE(v.at(i).is_null()) << message;
            EXPECT_EQ(v.at(i).at(i).text(), "") << message;
        }
    }
}

TEST(resp_value, beyond_the_last_child_of_a_child_is_not_its_sibling) {
    const parsed m{"*2\r\n*1\r\n:1\r\n:2\r\n"};
    EXPECT_TRUE(m.get().at(0).at(1).is_null());
}

TEST(resp_value, a_child_is_found_where_all_are_flat) {
    const parsed m{"*3\r\n:1\r\n$2\r\nab\r\n_\r\n"};
    EXPECT_EQ(describe(m.get().at(0)), ":1");
    EXPECT_EQ(describe(m.get().at(1)), "$2<ab>");
    EXPECT_EQ(describe(m.get().at(2)), "_");
}

TEST(resp_value, find_gives_the_value_of_a_key_in_a_map) {
    const parsed m{"%3\r\n+server\r\n+redis\r\n$5\r\nproto\r\n:3\r\n=6\r\ntxt:id\r\n*1\r\n:7\r\n"};
    EXPECT_EQ(m.get().find("server").text(), "redis");
    EXPECT_EQ(m.get().find("proto").integer(), 3);
    EXPECT_EQ(describe(m.get().find("id")), "*[:7]");
}

TEST(resp_value, find_gives_the_value_of_a_key_in_a_flat_array) {
    const parsed m{"*4\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n"};
    EXPECT_EQ(m.get().find("proto").integer(), 3);
}

TEST(resp_value, find_gives_null_if_there_is_no_such_key) {
    const parsed m{"%2\r\n+a\r\n:1\r\n+bb\r\n:2\r\n"};
    for (const char* key : {"", "b", "bbb", "A", "c"}) {
        EXPECT_TRUE(m.get().find(key).is_null()) << key;
    }
}

TEST(resp_value, find_takes_keys_only_and_of_text_only) {
    EXPECT_TRUE(parsed{"%1\r\n+a\r\n+b\r\n"}.get().find("b").is_null());
    EXPECT_TRUE(parsed{"%1\r\n,1\r\n+b\r\n"}.get().find("1").is_null());
    EXPECT_TRUE(parsed{"%1\r\n_\r\n+b\r\n"}.get().find("").is_null());
    EXPECT_TRUE(parsed{"%1\r\n+k\r\n%1\r\n+b\r\n:1\r\n"}.get().find("b").is_null());
}

TEST(resp_value, find_passes_entries_with_children) {
    const parsed m{"%3\r\n*2\r\n+x\r\n+y\r\n*0\r\n+a\r\n*2\r\n+b\r\n:1\r\n+b\r\n:2\r\n"};
    EXPECT_EQ(m.get().find("b").integer(), 2);
}

TEST(resp_value, find_ignores_a_key_without_a_value) {
    EXPECT_TRUE(parsed{"*3\r\n+a\r\n:1\r\n+b\r\n"}.get().find("b").is_null());
}

TEST(resp_value, find_gives_null_in_what_has_no_keys) {
    for (const char* other :
         {"~2\r\n+a\r\n:1\r\n", ">2\r\n+a\r\n:1\r\n", "+a\r\n", "*0\r\n", "%0\r\n"}) {
        EXPECT_TRUE(parsed{other}.get().find("a").is_null()) << other;
    }
}

}  // namespace
