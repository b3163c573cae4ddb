// SPDX-License-Identifier: BSL-1.0
#include "core/log.hpp"

#include <conch/printable.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using conch::log_level;
using conch::printable;
using conch::printable_json;
using conch::valid_utf8;

TEST(core_printable, what_a_terminal_may_obey_is_replaced) {
    const std::string_view obeyed[] = {
        "\x1b",         "\n",           "\r",           "\t",           "\x7f",
        "\xc2\x80",     "\xc2\x85",     "\xc2\x9b",     "\xc2\x9d",     "\xc2\x9f",
        "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    for (const std::string_view c : obeyed) {
        EXPECT_EQ(printable(std::string{"a"}.append(c) + "b"), "a?b") << printable_json(c);
    }
    EXPECT_EQ(printable(std::string_view{"a\0b", 3}), "a?b");
}

TEST(core_printable, other_text_stays) {
    const std::string_view texts[] = {"plain ~",      "\xc2\xa0",     "\xc3\xa9",
                                      "\xe2\x80\x90", "\xe2\x80\xaf", "\xe2\x81\xaa",
                                      "\xf0\x9f\x90\x9a"};
    for (const std::string_view text : texts) {
        EXPECT_EQ(printable(text), text);
        EXPECT_EQ(valid_utf8(text), text);
    }
}

TEST(core_printable, bytes_that_are_no_utf8_become_the_replacement_character) {
    EXPECT_EQ(printable("\x9b"), "\xef\xbf\xbd");
    EXPECT_EQ(valid_utf8("a\xff\xc2"), "a\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(valid_utf8("\x1b"), "\x1b");
}

TEST(core_printable, json_keeps_its_meaning) {
    EXPECT_EQ(printable_json("{\"a\":\"\xc2\x9b\x7f\xe2\x80\xae\"}"),
              "{\"a\":\"\\u009b\\u007f\\u202e\"}");
}

TEST(core_log, lines_are_fit_for_a_terminal) {
    std::vector<std::string> lines;
    const conch::core::log log{
        [&](log_level, std::string_view line) { lines.emplace_back(line); }, log_level::info};
    log(log_level::info, "lost: ", "\x1b]0;x", ": ", "\xc2\x9b" "2J");
    EXPECT_EQ(lines, std::vector<std::string>{"lost: ?]0;x: ?2J"});
}

}  // namespace
