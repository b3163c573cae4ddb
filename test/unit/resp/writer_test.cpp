// SPDX-License-Identifier: BSL-1.0
#include "resp/writer.hpp"

#include "unit/resp/describe.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using conch::resp::writer;
using conch::test::join;
using conch::test::read_all;

template <class... Parts>
std::string one_arg(const Parts&... parts) {
    std::string out;
    writer{out}.arg(parts...);
    return out;
}

TEST(resp_writer, a_command_is_an_array_of_blob_strings) {
    std::string out;
    writer{out}.command(3).arg("SET").arg("key").arg("");
    EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
}

TEST(resp_writer, commands_are_appended_to_what_is_there) {
    std::string out = "before";
    {
        writer w{out};
        w.command(1).arg("PING");
        w.command(1).arg("QUIT");
    }
    EXPECT_EQ(out, "before*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n");
}

TEST(resp_writer, an_argument_may_hold_any_bytes) {
    EXPECT_EQ(one_arg(std::string_view{"\0\r\n$", 4}), (std::string{"$4\r\n\0\r\n$\r\n", 10}));
}

TEST(resp_writer, a_number_is_written_in_decimal) {
    EXPECT_EQ(one_arg(0), "$1\r\n0\r\n");
    EXPECT_EQ(one_arg(30'000), "$5\r\n30000\r\n");
    EXPECT_EQ(one_arg(-1), "$2\r\n-1\r\n");
    EXPECT_EQ(one_arg(std::numeric_limits<std::int64_t>::max()), "$19\r\n9223372036854775807\r\n");
    EXPECT_EQ(one_arg(std::numeric_limits<std::int64_t>::min()), "$20\r\n-9223372036854775808\r\n");
}

TEST(resp_writer, an_unsigned_number_never_turns_negative) {
    EXPECT_EQ(one_arg(std::numeric_limits<std::uint64_t>::max()),
              "$20\r\n18446744073709551615\r\n");
    EXPECT_EQ(one_arg(std::numeric_limits<std::uint32_t>::max()), "$10\r\n4294967295\r\n");
}

TEST(resp_writer, an_argument_of_two_parts_is_one_argument) {
    EXPECT_EQ(one_arg("channel:{", "name}"), "$14\r\nchannel:{name}\r\n");
    EXPECT_EQ(one_arg("", "b"), "$1\r\nb\r\n");
    EXPECT_EQ(one_arg("a", ""), "$1\r\na\r\n");
    EXPECT_EQ(one_arg("", ""), "$0\r\n\r\n");
}

TEST(resp_writer, a_reader_reads_arguments_of_any_length_and_number) {
    for (const std::size_t size : {9u, 10u, 99u, 100u, 999u, 1000u, 99'999u, 100'000u}) {
        SCOPED_TRACE(size);
        const std::string text(size, 'x');
        std::string out;
        writer{out}.command(2).arg("ECHO").arg(text);
        const std::string one = join("$", size, "<", text, ">");
        EXPECT_EQ(read_all(out).messages, std::vector{join("*[$4<ECHO> ", one, "]")});
    }
    for (const std::size_t count : {9u, 10u, 99u, 100u, 1234u}) {
        SCOPED_TRACE(count);
        std::string out;
        std::string expected = "*[$1<0>";
        {
            writer w{out};
            w.command(count).arg(0);
            for (std::size_t i = 1; i < count; ++i) {
                w.arg(i % 10);
                expected += join(" $1<", i % 10, ">");
            }
        }
        EXPECT_EQ(read_all(out).messages, std::vector{join(expected, "]")});
    }
}

TEST(resp_writer, a_growing_buffer_moves_rarely) {
    std::string out;
    std::size_t moves = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::size_t before = out.capacity();
        writer{out}.command(7);
        moves += out.capacity() != before;
    }
    EXPECT_LE(moves, 16u);
}

TEST(resp_writer, a_buffer_used_again_does_not_grow) {
    std::string out;
    const auto write = [&] {
        for (int i = 0; i < 100; ++i) {
            writer{out}.command(3).arg("EVALSHA").arg(std::string_view{"0123456789abcdef"}).arg(i);
        }
    };
    write();
    const std::size_t capacity = out.capacity();
    const std::size_t size = out.size();
    out.clear();
    out.reserve(capacity);
    write();
    EXPECT_EQ(out.size(), size);
    EXPECT_EQ(out.capacity(), capacity);
}

}  // namespace
