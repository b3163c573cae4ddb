// SPDX-License-Identifier: BSL-1.0
#include "support/program.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace conch::test {
namespace {

using steady = std::chrono::steady_clock;

/// Two ends of a pipe or socket pair, closed at the end.
struct ends {
    int ours = -1;
    int theirs = -1;
    ~ends() {
        for (const int fd : {ours, theirs}) {
            if (fd >= 0) {
                ::close(fd);
            }
        }
    }
    int take_ours() noexcept { return std::exchange(ours, -1); }
    void close_theirs() noexcept { ::close(std::exchange(theirs, -1)); }
};

void open_pipe(ends& e) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) {
        throw std::runtime_error{"program: pipe2 failed"};
    }
    e.ours = fds[0];
    e.theirs = fds[1];
}

/// A socket: written to after the program's end, it gives an error instead of a signal.
void open_input(ends& e) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        throw std::runtime_error{"program: socketpair failed"};
    }
    e.ours = fds[0];
    e.theirs = fds[1];
}

std::vector<std::string> merged(program::environment variables) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        const auto equals = text.find('=');
        if (equals != text.npos) {
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    std::vector<std::string> out;
    for (const auto& [name, value] : variables) {
        if (!value.empty()) {
            out.push_back(name + '=' + value);
        }
    }
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words) {
        out.push_back(word.data());
    }
    out.push_back(nullptr);
    return out;
}

struct exec_plan {
    char* const* argv;
    char* const* envp;
    int in, out, err;
    int error_fd;
    pid_t parent;
};

/// In the forked child.
[[noreturn]] void become(const exec_plan& plan) noexcept {
    ::signal(SIGPIPE, SIG_DFL);  // a library that the test uses may ignore it
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) {
        ::_exit(127);
    }
    ::dup2(plan.in, STDIN_FILENO);
    ::dup2(plan.out, STDOUT_FILENO);
    ::dup2(plan.err, STDERR_FILENO);
    ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execve(plan.argv[0], plan.argv, plan.envp);
    const int error = errno;
    [[maybe_unused]] const auto n = ::write(plan.error_fd, &error, sizeof error);
    ::_exit(127);
}

/// Appends what there is; false at the end.
bool drain(int fd, std::string& text) {
    char buffer[4096];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

std::vector<pid_t> all_processes() {
    std::vector<pid_t> out;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename().string();
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size()) {
            out.push_back(pid);
        }
    }
    return out;
}

}  // namespace

void PrintTo(const ended& e, std::ostream* stream) {
    *stream << "status " << e.status << ", signal " << e.signal << "\nout: " << e.out
            << "\nerr: " << e.err;
}

program::program(const std::vector<std::string>& words, const environment& variables)
    : name_{words.at(0)} {
    std::vector<std::string> arguments = words;
    std::vector<std::string> settings = merged(variables);
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> envp = pointers(settings);
    ends in, out, err, failure;
    open_input(in);
    open_pipe(out);
    open_pipe(err);
    open_pipe(failure);
    const exec_plan plan{argv.data(), envp.data(),    in.theirs, out.theirs,
                         err.theirs,  failure.theirs, ::getpid()};
    pid_ = ::fork();
    if (pid_ == 0) {
        become(plan);
    }
    if (pid_ < 0) {
        throw std::runtime_error{"program: fork failed"};
    }
    failure.close_theirs();
    int error = 0;
    const bool failed = ::read(failure.ours, &error, sizeof error) > 0;
    pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
    if (failed || pid_fd_ < 0) {
        kill();
        throw std::runtime_error{"program: cannot start " + name_ + ": " + std::strerror(error)};
    }
    in_ = in.take_ours();
    out_ = out.take_ours();
    err_ = err.take_ours();
}

program::~program() {
    kill();
    for (const int fd : {in_, out_, err_, pid_fd_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

void program::kill() noexcept {
    if (pid_ <= 0) {
        return;
    }
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // if it is not yet the leader of its group
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

void program::signal(int number) const {
    if (pid_ <= 0 || ::kill(pid_, number) != 0) {
        throw std::runtime_error{"program: " + name_ + " cannot be signalled"};
    }
}

void program::type(std::string_view text) const {
    if (::send(in_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
        throw std::runtime_error{"program: " + name_ + " does not take its input"};
    }
}

void program::end_input() const { ::shutdown(in_, SHUT_WR); }

void program::give_up(const std::string& why) {
    kill();
    throw std::runtime_error{"program: " + name_ + ": " + why + "\nout: " + result_.out +
                             "\nerr: " + result_.err};
}

/// Waits for output on either pipe, or the program's end once both have ended.
void program::read_more(time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
    const bool silent = out_ < 0 && err_ < 0;
    pollfd all[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}, {silent ? pid_fd_ : -1, POLLIN, 0}};
    const auto timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int n = ::poll(all, 3, timeout);
    if (n == 0) {
        give_up("the time is up");
    }
    if (n < 0) {
        return;
    }
    if (all[0].revents != 0 && !drain(out_, result_.out)) {
        ::close(std::exchange(out_, -1));
    }
    if (all[1].revents != 0 && !drain(err_, result_.err)) {
        ::close(std::exchange(err_, -1));
    }
    if (all[2].revents != 0) {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
}

const std::string& program::wait_for(std::string_view text, std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    while (result_.out.find(text) == std::string::npos) {
        if (out_ < 0) {
            give_up("its output ended without \"" + std::string{text} + '"');
        }
        read_more(deadline);
    }
    return result_.out;
}

const ended& program::finish(std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    while (pid_ > 0) {
        read_more(deadline);
    }
    return result_;
}

const std::string& program::wait_for_error(std::string_view text, std::chrono::milliseconds limit) {
    const auto deadline = steady::now() + limit;
    while (result_.err.find(text) == std::string::npos) {
        if (err_ < 0) {
            give_up("standard error ended without \"" + std::string{text} + '"');
        }
        read_more(deadline);
    }
    return result_.err;
}

void program::wait_for_exit(std::chrono::milliseconds limit) {
    pollfd ended{pid_fd_, POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(limit.count())) != 1) {
        give_up("it has not ended");
    }
}

temporary_folder::temporary_folder() {
    char pattern[] = "/tmp/conch-test-XXXXXX";  // short: a unix socket's address has to fit
    if (::mkdtemp(pattern) == nullptr) {
        throw std::runtime_error{"temporary_folder: mkdtemp failed"};
    }
    path_ = pattern;
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> temporary_folder::entries() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator{path_}) {
        out.push_back(entry.path().filename().string());
    }
    return out;
}

std::string process_file(pid_t pid, const std::string& name) {
    const std::ifstream file{"/proc/" + std::to_string(pid) + "/" + name, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

char process_state(pid_t pid) {
    const std::string all = process_file(pid, "stat");
    // The state follows the name, which is in parentheses and may have some of its own.
    const auto at = all.rfind(") ");
    return at != std::string::npos && all.size() > at + 2 ? all[at + 2] : '\0';
}

bool is_alive(pid_t pid) {
    const char state = process_state(pid);
    return state != '\0' && state != 'Z' && state != 'X';
}

pid_t child_named(pid_t parent, const std::string& name) {
    for (const pid_t pid : all_processes()) {
        // "PID (NAME) STATE PARENT ..."
        const std::string head = std::to_string(pid) + " (" + name + ") ";
        const std::string stat = process_file(pid, "stat");
        if (stat.starts_with(head) &&
            stat.find(' ' + std::to_string(parent) + ' ', head.size()) == head.size() + 1) {
            return pid;
        }
    }
    return -1;
}

std::vector<pid_t> processes_with(const std::string& variable, const std::string& value) {
    const std::string wanted = '\0' + variable + '=' + value + '\0';
    std::vector<pid_t> out;
    for (const pid_t pid : all_processes()) {
        if (('\0' + process_file(pid, "environ")).find(wanted) != std::string::npos) {
            out.push_back(pid);
        }
    }
    return out;
}

}  // namespace conch::test
