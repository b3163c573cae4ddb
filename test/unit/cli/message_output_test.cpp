// SPDX-License-Identifier: BSL-1.0
// Lines for somebody who may not read them: nothing here waits, or the test would never end.
#include "cli/message_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using conch::cli::message_output;
using namespace std::chrono_literals;

/// Two ends of a small pipe, or of a socket. The writing end blocks.
class channel {
public:
    explicit channel(bool socket = false) {
        const int made = socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) : ::pipe(ends_);
        if (made != 0) {
            throw std::runtime_error{"no pipe"};
        }
        if (!socket) {
            ::fcntl(ends_[1], F_SETPIPE_SZ, 2 * 4096);
        }
        ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    }
    ~channel() {
        close_reader();
        ::close(ends_[1]);
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    int writer() const { return ends_[1]; }
    void close_reader() {
        if (ends_[0] >= 0) {
            ::close(std::exchange(ends_[0], -1));
        }
    }
    /// Writes until there is no room.
    void fill() const {
        const int flags = ::fcntl(ends_[1], F_GETFL);
        ::fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
        while (::write(ends_[1], "x", 1) == 1) {
        }
        ::fcntl(ends_[1], F_SETFL, flags);
    }
    std::string take() const {
        std::string out;
        char c = 0;
        while (::read(ends_[0], &c, 1) == 1) {
            out += c;
        }
        return out;
    }

private:
    int ends_[2]{-1, -1};
};

/// As where there is no /proc, or no descriptor left: the file can't be opened once more.
std::unique_ptr<message_output> without_own_file(int descriptor) {
    rlimit former{};
    ::getrlimit(RLIMIT_NOFILE, &former);
    const rlimit none{0, former.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    auto out = std::make_unique<message_output>(descriptor);
    ::setrlimit(RLIMIT_NOFILE, &former);
    return out;
}

TEST(cli_message_output, writes_a_line_with_its_end) {
    for (const bool socket : {false, true}) {
        const channel c{socket};
        message_output out{c.writer()};
        out.line("one");
        out.line("two");
        EXPECT_EQ(c.take(), "one\ntwo\n");
    }
}

TEST(cli_message_output, what_finds_no_room_comes_before_the_next_line) {
    for (const bool socket : {false, true}) {
        const channel c{socket};
        message_output out{c.writer()};
        c.fill();
        out.line("one");
        c.take();
        out.line("two");
        EXPECT_EQ(c.take(), "one\ntwo\n");
    }
}

TEST(cli_message_output, does_not_block_where_the_file_cannot_be_opened_once_more) {
    const channel c;
    const auto out = without_own_file(c.writer());
    c.fill();
    out->line("one");
    c.take();
    out->line("two");
    EXPECT_EQ(c.take(), "one\ntwo\n");
}

TEST(cli_message_output, changes_no_flag_of_the_descriptor) {
    const channel c;
    const int before = ::fcntl(c.writer(), F_GETFL);
    message_output out{c.writer()};
    out.line("one");
    EXPECT_EQ(::fcntl(c.writer(), F_GETFL), before);
}

TEST(cli_message_output, a_long_line_is_cut_to_what_a_pipe_takes_at_once) {
    const channel c;
    message_output out{c.writer()};
    out.line(std::string(2 * PIPE_BUF, 'y'));
    EXPECT_EQ(c.take(), std::string(PIPE_BUF - 1, 'y') + '\n');
}

TEST(cli_message_output, what_waits_is_bounded) {
    const channel c;
    message_output out{c.writer()};
    c.fill();
    for (int i = 0; i < 100; ++i) {
        out.line(std::string(PIPE_BUF, 'y'));
    }
    std::string text;
    for (int i = 0; i < 100; ++i) {
        out.line("");
        text += c.take();
    }
    EXPECT_GT(std::count(text.begin(), text.end(), 'y'), PIPE_BUF);
    EXPECT_LT(std::count(text.begin(), text.end(), 'y'), 10 * PIPE_BUF);
}

TEST(cli_message_output, the_rest_is_written_at_the_end) {
    const channel c;
    message_output out{c.writer()};
    c.fill();
    out.line("one");
    c.take();
    out.finish(10s);
    EXPECT_EQ(c.take(), "one\n");
}

TEST(cli_message_output, the_end_is_not_waited_for_longer_than_said) {
    for (const bool socket : {false, true}) {
        const channel c{socket};
        message_output out{c.writer()};
        c.fill();
        out.line("one");
        out.finish(20ms);
        c.take();
        out.line("two");
        EXPECT_EQ(c.take(), "two\n");
    }
}

TEST(cli_message_output, a_reader_that_is_gone_is_no_error) {
    const auto former = std::signal(SIGPIPE, SIG_IGN);
    for (const bool socket : {false, true}) {
        channel c{socket};
        message_output out{c.writer()};
        c.close_reader();
        out.line("one");
        out.finish(1h);
    }
    std::signal(SIGPIPE, former);
}

TEST(cli_message_output, a_descriptor_that_is_not_open_is_no_error) {
    message_output out{-1};
    out.line("one");
    out.finish(1h);
}

TEST(cli_message_output, a_file_is_written_at_the_common_position) {
    char path[] = "/tmp/conch-test-XXXXXX";
    const int fd = ::mkstemp(path);
    ::unlink(path);
    ASSERT_EQ(::write(fd, "a\n", 2), 2);
    message_output out{fd};
    out.line("b");
    ASSERT_EQ(::write(fd, "c\n", 2), 2);
    char text[16] = "";
    EXPECT_EQ(::pread(fd, text, sizeof text, 0), 6);
    EXPECT_STREQ(text, "a\nb\nc\n");
    ::close(fd);
}

}  // namespace
