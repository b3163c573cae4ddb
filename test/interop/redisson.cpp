// SPDX-License-Identifier: BSL-1.0
#include "redisson.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

namespace conch::test {
namespace {

constexpr std::chrono::seconds start_limit{60};

/// A connected pair of sockets: written to after the JVM's end, one gives an error, not a signal.
std::pair<int, int> make_pair_of_sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::runtime_error{"redisson: socketpair failed"};
    }
    return {ends[0], ends[1]};
}

/// Becomes the JVM; between fork and exec nothing is allocated, whatever threads there are.
child_process start_jvm(const std::string& folder, const std::string& url,
                        std::chrono::milliseconds watchdog, int in, int out) {
    std::vector<std::string> words{"java",
                                   "-XX:TieredStopAtLevel=1",
                                   "-Xmx256m",
                                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                   "-cp",
                                   folder + "/classes:" + folder + "/lib/*",
                                   "Driver",
                                   url,
                                   std::to_string(watchdog.count())};
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return child_process{[&arguments, in, out](const child_process::report&) {
        ::dup2(in, STDIN_FILENO);
        ::dup2(out, STDOUT_FILENO);
        ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
        ::execvp(arguments[0], arguments.data());
        return 127;
    }};
}

struct closed_at_end {
    int fd;
    ~closed_at_end() { ::close(fd); }
};

}  // namespace

redisson::redisson(const std::string& folder, const std::string& url,
                   std::chrono::milliseconds watchdog)
    : jvm_{[&] {
          const auto [ours_in, theirs_in] = make_pair_of_sockets();
          const auto [ours_out, theirs_out] = make_pair_of_sockets();
          in_ = ours_in;
          out_ = ours_out;
          const closed_at_end one{theirs_in};
          const closed_at_end other{theirs_out};
          return start_jvm(folder, url, watchdog, theirs_in, theirs_out);
      }()} {
    std::future<answer> ready = pending_[0].get_future();
    reader_ = std::thread{[this] { read_answers(); }};
    if (ready.wait_for(start_limit) != std::future_status::ready) {
        crash();
        throw std::runtime_error{"redisson: the JVM is not ready in time"};
    }
    try {
        ready.get();
    } catch (...) {
        crash();
        throw;
    }
}

redisson::~redisson() { crash(); }

// The end of the JVM is the end of its output, and so of the thread that reads it.
void redisson::crash() {
    jvm_.kill();
    if (reader_.joinable()) {
        reader_.join();
    }
    for (int* fd : {&in_, &out_}) {
        if (*fd >= 0) {
            ::close(std::exchange(*fd, -1));
        }
    }
}

std::future<answer> redisson::send(const std::string& request) {
    const std::lock_guard guard{guard_};
    if (ended_) {
        throw std::runtime_error{"redisson: the JVM has ended"};
    }
    const std::uint64_t id = ++last_id_;
    const std::string line = std::to_string(id) + ' ' + request + '\n';
    std::future<answer> result = pending_[id].get_future();
    if (::send(in_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
        throw std::runtime_error{"redisson: the JVM does not take requests"};
    }
    return result;
}

void redisson::read_answers() {
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t n = ::read(out_, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        text.append(buffer, static_cast<std::size_t>(n));
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
            take(text.substr(0, end));
            text.erase(0, end + 1);
        }
    }
    abandon_all();
}

/// "ID ok VALUE" or "ID error CLASS MESSAGE"; what else there may be is not for us.
void redisson::take(const std::string& line) {
    const auto first = line.find(' ');
    const auto second = line.find(' ', first + 1);
    if (first == line.npos || second == line.npos) {
        return;
    }
    const std::string verdict = line.substr(first + 1, second - first - 1);
    const std::lock_guard guard{guard_};
    const auto found = pending_.find(std::strtoull(line.c_str(), nullptr, 10));
    if (found != pending_.end()) {
        found->second.set_value({verdict == "ok", line.substr(second + 1)});
        pending_.erase(found);
    }
}

void redisson::abandon_all() {
    const std::lock_guard guard{guard_};
    ended_ = true;
    for (auto& [id, promised] : pending_) {
        promised.set_exception(
            std::make_exception_ptr(std::runtime_error{"redisson: the JVM has ended"}));
    }
    pending_.clear();
}

}  // namespace conch::test
