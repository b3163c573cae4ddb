// SPDX-License-Identifier: BSL-1.0
// `conch run` while nobody reads what it says: the lock and the command come first.
#include "support/command_fixture.hpp"
#include "support/terminal_session.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

/// A named pipe for a program's standard error; this process is its only reader.
class error_pipe {
public:
    explicit error_pipe(std::string path) : path_{std::move(path)} {
        if (::mkfifo(path_.c_str(), 0600) != 0) {
            throw std::runtime_error{"error_pipe: mkfifo failed"};
        }
        fd_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        ::fcntl(fd_, F_SETPIPE_SZ, 4096);
    }
    ~error_pipe() { close(); }
    error_pipe(const error_pipe&) = delete;
    error_pipe& operator=(const error_pipe&) = delete;

    /// The command line of a program with this for its standard error.
    words below(const words& line) const {
        words all{"/bin/sh", "-c", "exec 2>\"$0\"; exec \"$@\"", path_};
        all.insert(all.end(), line.begin(), line.end());
        return all;
    }
    /// From now on, a write has to wait.
    void fill() const {
        while (::write(fd_, "x", 1) == 1) {
        }
    }
    /// All that is in it, but for what filled it.
    std::string take() const {
        std::string out;
        char c = 0;
        while (::read(fd_, &c, 1) == 1) {
            out.append(c == 'x' ? 0 : 1, c);
        }
        return out;
    }
    /// From now on, a write is an error.
    void close() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

private:
    std::string path_;
    int fd_ = -1;
};

class output_command_test : public command_fixture {
protected:
    words below(const words& options, const words& command) const {
        return errors.below(run_words(options, command));
    }

    error_pipe errors{folder.path() + "/errors"};
};

TEST_F(output_command_test, a_lost_hold_ends_the_command_while_the_messages_are_stuck) {
    for (const words& options : {words{"--lease", "1"}, words{"-v", "--lease", "1"}}) {
        errors.take();
        program p{below(options, until_end_of_input), here()};
        p.wait_for("in\n");
        errors.fill();
        raw.must({"DEL", "lock"});
        EXPECT_EQ(p.finish().status, 75) << ::testing::PrintToString(options);
    }
}

TEST_F(output_command_test, a_frozen_server_ends_the_command_in_time_while_messages_are_stuck) {
    program p{below({"-v", "--lease", "2"}, {"sh", "-c", "trap '' TERM; echo $$; exec cat"}),
              here()};
    const pid_t command = std::stoi(p.wait_for("\n"));
    errors.fill();
    server.freeze();
    const auto frozen = clock::now();
    EXPECT_TRUE(has_ended(command));
    EXPECT_LT(clock::now() - frozen, 2s);
    EXPECT_EQ(p.finish().status, 75);
}

TEST_F(output_command_test, the_end_of_the_command_is_the_end_while_messages_are_stuck) {
    program p{below({"-v"}, {"sh", "-c", "echo in; cat; exit 7"}), here()};
    p.wait_for("in\n");
    errors.fill();
    p.end_input();
    EXPECT_EQ(p.finish().status, 7);
    expect_free();
}

TEST_F(output_command_test, a_message_that_was_stuck_comes_before_the_next_one) {
    take_as_stranger(raw, "lock");
    program p{below({"-v"}, until_end_of_input), here()};
    ASSERT_TRUE(waiter_listens());
    errors.fill();
    redisson_release(raw, "lock");
    p.wait_for("in\n");
    errors.take();
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
    const std::string text = errors.take();
    EXPECT_TRUE(text.starts_with("conch run: got \"lock\"")) << text;
    expect_in("\nconch run: released \"lock\"", text);
}

TEST_F(output_command_test, a_stopped_terminal_does_not_keep_the_command_alive) {
    if (!terminal_session::possible()) {
        GTEST_SKIP() << "no pseudo-terminals here";
    }
    words line = run_words({"-v", "--lease", "1"},
                           {"sh", "-c", "trap '' TERM; echo \"pid<$$>\"; exec tail -f /dev/null"});
    terminal_session t{line, here()};
    t.wait_for("pid<");
    const pid_t command = std::stoi(t.wait_for(">"));
    const std::string terminal = "/proc/" + std::to_string(t.pid()) + "/fd/2";
    const int fd = ::open(terminal.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_EQ(::tcflow(fd, TCOOFF), 0);  // as by Ctrl-S
    raw.must({"DEL", "lock"});
    EXPECT_TRUE(has_ended(command));
    EXPECT_TRUE(has_ended(t.pid()));
    ::close(fd);
    EXPECT_EQ(t.finish().status, 75);
}

TEST_F(output_command_test, the_command_runs_though_nobody_will_read_that_the_lock_was_got) {
    take_as_stranger(raw, "lock");
    program p{below({"-v"}, {"sh", "-c", "echo ran; exit 7"}), here()};
    ASSERT_TRUE(waiter_listens());
    errors.close();
    redisson_release(raw, "lock");
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 7) << ::testing::PrintToString(end);
    EXPECT_EQ(end.out, "ran\n");
    expect_free();
}

TEST_F(output_command_test, the_status_is_kept_though_nobody_will_read_of_the_release) {
    program p{below({"-v"}, {"sh", "-c", "echo in; cat; exit 7"}), here()};
    p.wait_for("in\n");
    errors.close();
    p.end_input();
    EXPECT_EQ(p.finish().status, 7) << ::testing::PrintToString(p.finish());
    expect_free();
}

TEST_F(output_command_test, a_lost_hold_ends_the_whole_group_though_nobody_will_read_of_it) {
    const words stubborn{"bash", "-c", "(trap '' TERM; tail -f /dev/null) & echo in; wait"};
    for (const words& options : {words{"--lease", "1"}, words{"-v", "--lease", "1"}}) {
        error_pipe other{folder.path() + "/errors" + std::to_string(options.size())};
        program p{other.below(run_words(options, stubborn)), here()};
        p.wait_for("in\n");
        other.close();
        raw.must({"DEL", "lock"});
        // Not before nobody has the output open any more.
        EXPECT_EQ(p.finish().status, 75) << ::testing::PrintToString(p.finish());
    }
}

TEST_F(output_command_test, sigpipe_is_not_passed_on) {
    program p{run_words({}, until_end_of_input), here()};
    p.wait_for("in\n");
    p.signal(SIGPIPE);
    p.end_input();
    EXPECT_EQ(p.finish().status, 0);
}

TEST_F(output_command_test, the_command_ignores_the_signals_that_conch_was_started_to_ignore) {
    const words grep{"grep", "SigIgn", "/proc/self/status"};
    for (const char* ignored : {"", "trap '' PIPE; ", "trap '' HUP USR1; "}) {
        words direct{"/bin/sh", "-c", std::string{ignored} + "exec \"$@\"", "sh"};
        words under = direct;
        const words whole = run_words({}, grep);
        direct.insert(direct.end(), grep.begin(), grep.end());
        under.insert(under.end(), whole.begin(), whole.end());
        program expected{direct};
        program p{under, here()};
        EXPECT_EQ(p.finish().out, expected.finish().out) << ignored;
    }
}

}  // namespace
