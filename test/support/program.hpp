// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_PROGRAM_HPP
#define CONCH_TEST_SUPPORT_PROGRAM_HPP

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// How a program ended, and what it wrote.
struct ended {
    int status = -1;  ///< its exit status; -1 if a signal ended it
    int signal = 0;   ///< the signal that ended it
    std::string out{};
    std::string err{};
};

/// For GoogleTest's messages.
void PrintTo(const ended& e, std::ostream* stream);

/// A program, started as from a shell: it has pipes for standard output and error, a socket for
/// standard input, and no other descriptor. The destructor ends it with its process group, and
/// reaps it. Every wait is bounded; what goes wrong is thrown as `std::runtime_error`.
class program {
public:
    /// Variables on top of this process's own. The empty text removes one.
    using environment = std::map<std::string, std::string>;
    /// No program has to take longer than this for what a test waits for, unless it says so.
    static constexpr std::chrono::seconds patience{20};

    /// `words`: the path of the program, and its arguments.
    explicit program(const std::vector<std::string>& words, const environment& variables = {});
    ~program();
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;
    void type(std::string_view text) const;
    void end_input() const;

    /// Waits until standard output contains this; throws if it ends before, or the time is up.
    /// Returns all of the output so far.
    const std::string& wait_for(std::string_view text, std::chrono::milliseconds limit = patience);
    /// Waits until the program has ended and nobody has its output open any more: what it started
    /// has ended too, or writes elsewhere. Throws if the time is up, after killing it.
    const ended& finish(std::chrono::milliseconds limit = patience);
    /// Waits until the program itself has ended, whoever has its output open.
    void wait_for_exit(std::chrono::milliseconds limit = patience);
    /// As `wait_for`, for standard error.
    const std::string& wait_for_error(std::string_view text,
                                      std::chrono::milliseconds limit = patience);

private:
    using time_point = std::chrono::steady_clock::time_point;

    void read_more(time_point deadline);
    [[noreturn]] void give_up(const std::string& why);
    void kill() noexcept;

    std::string name_;
    pid_t pid_ = -1;
    int pid_fd_ = -1;
    int in_ = -1;
    int out_ = -1;  ///< -1 after its end
    int err_ = -1;  ///< the same
    ended result_{};
};

/// An empty folder, removed with what is in it at the end.
class temporary_folder {
public:
    temporary_folder();
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::string& path() const noexcept { return path_; }
    /// The names of what is in it.
    std::vector<std::string> entries() const;

private:
    std::string path_{};
};

/// What /proc/PID/NAME says; empty if the process is gone, or goes while this is read (an
/// `istreambuf_iterator` would throw).
std::string process_file(pid_t pid, const std::string& name);
/// The letter for the state of a process, as in /proc/PID/stat: 'T' is stopped, 'Z' a zombie; 0 if
/// there is none of this number.
char process_state(pid_t pid);
/// Whether there is a process of this number that still runs: a zombie does not.
bool is_alive(pid_t pid);
/// A child of this process that has this name (`ps -o comm`); -1 if there is none.
pid_t child_named(pid_t parent, const std::string& name);

/// The processes, whoever started them, whose environment has this variable with this value.
std::vector<pid_t> processes_with(const std::string& variable, const std::string& value);

}  // namespace conch::test

#endif
