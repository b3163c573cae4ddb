// SPDX-License-Identifier: BSL-1.0
// What a client tells others of its waits, as text.
#include "protocol/wait_record.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace conch;
using namespace conch::protocol;

impl::spec_ptr spec(const lock_protocol& p, std::string_view name) {
    return impl::lock_spec::make(p, name, {});
}

TEST(wait_record, reads_what_it_has_written) {
    const wait_record r{
        .epoch = 3,
        .refresh = 17,
        .who = "conch:billing:web-1:4711:5c1e0a8e",
        .waits = {{.wanted = spec(mutex_protocol, "orders 1"), .number = 9, .began_ms = 1234},
                  {.wanted = spec(shared_write_protocol, " \n "), .number = 10, .began_ms = -5},
                  {.wanted = spec(fair_protocol, "{a}b"), .number = 11, .began_ms = 0}}};
    const std::string text = text_of(r);
    EXPECT_EQ(text,
              "1 3 17 conch:billing:web-1:4711:5c1e0a8e mutex 9 1234 8 orders 1 write 10 -5 3  \n  "
              "fair 11 0 4 {a}b");
    const auto read = read_wait_record(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(text_of(*read), text);
    EXPECT_EQ(read->waits[1].wanted->name(), " \n ");
    EXPECT_EQ(&read->waits[2].wanted->protocol(), &fair_protocol);
}

TEST(wait_record, knows_each_kind_of_lock_that_a_single_holder_keeps_busy) {
    for (const lock_protocol* p : {&mutex_protocol, &value_lock_protocol, &shared_read_protocol,
                                   &shared_write_protocol, &fair_protocol, &leader_protocol}) {
        const auto read =
            read_wait_record(text_of({.who = {}, .waits = {{.wanted = spec(*p, "a")}}}));
        ASSERT_TRUE(read);
        EXPECT_EQ(&read->waits.at(0).wanted->protocol(), p);
        EXPECT_EQ(read->who, "");
    }
}

TEST(wait_record, of_too_many_waits_has_the_first) {
    wait_record r{.who = "x"};
    for (int i = 0; i < 5; ++i) {
        r.waits.push_back({.wanted = spec(mutex_protocol, std::string(5000, 'a'))});
    }
    const std::string text = text_of(r);
    EXPECT_LE(text.size(), longest_wait_record);
    EXPECT_EQ(read_wait_record(text)->waits.size(), 3u);
}

TEST(wait_record, that_is_too_long_is_not_read) {
    const auto longer_by = [](std::size_t more) {
        const std::string text = "1 3 17 who mutex 9 1234 16355 ";
        return text + std::string(16355 + more, 'a');
    };
    ASSERT_EQ(longer_by(0).size(), longest_wait_record + 1);
    EXPECT_FALSE(read_wait_record(longer_by(0))) << "there may be more of it";
    std::string shorter = longer_by(0);
    shorter.pop_back();
    shorter.replace(shorter.find("16355"), 5, "16354");
    EXPECT_TRUE(read_wait_record(shorter));
}

TEST(wait_record, is_not_read_from_other_texts) {
    const std::string good = "1 3 17 who mutex 9 1234 1 a";
    ASSERT_TRUE(read_wait_record(good));
    EXPECT_TRUE(read_wait_record("1 3 17 who")) << "who waits for nothing just now";
    for (const std::string& bad :
         {std::string{}, std::string{"1"}, std::string{"1 3"}, std::string{"2 3 17 who"},
          std::string{"1 x 17 who"}, std::string{"1 3 -1 who"}, good + "b", good + " b",
          std::string{"1 3 17 who permits 9 1234 1 a"}, std::string{"1 3 17 who mutex 9 1234 2 a"},
          std::string{"1 3 17 who mutex 9 1234 0 "}, std::string{"1 3 17 who mutex 9 x 1 a"},
          std::string{"1 3 17 who mutex 9 1234 99999999999999999999 a"},
          std::string(longest_wait_record + 100, '1')}) {
        EXPECT_FALSE(read_wait_record(bad)) << bad.substr(0, 100);
    }
}

TEST(wait_record, is_beside_the_lock_by_the_holder_without_its_suffix) {
    EXPECT_EQ(wait_key(*spec(mutex_protocol, "a"), "x:1"), "conch_wait:{a}:x:1");
    EXPECT_EQ(wait_key(*spec(mutex_protocol, "{a}b"), "x:1"), "conch_wait:{a}b:x:1");
    EXPECT_EQ(plain_field("x:1"), "x:1");
    EXPECT_EQ(plain_field("x:1:write"), "x:1");
    for (const std::string_view bad : {"", ":1", "x", "x:", "x:y", "x:-1", "write", ":write"}) {
        EXPECT_EQ(plain_field(bad), "") << bad;
    }
}

}  // namespace
