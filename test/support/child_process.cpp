// SPDX-License-Identifier: BSL-1.0
#include "support/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

namespace conch::test {
namespace {

using steady = std::chrono::steady_clock;

[[noreturn]] void run_child(const std::function<int(const child_process::report&)>& body,
                            int pipe) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 70;
    try {
        status = body([pipe](char c) { [[maybe_unused]] const auto n = ::write(pipe, &c, 1); });
    } catch (const std::exception& e) {
        std::fprintf(stderr, "child: %s\n", e.what());
    }
    ::_exit(status);
}

/// False if there is nothing to read, and no end of file, within the time.
bool readable(int fd, std::chrono::milliseconds limit) {
    const auto end = steady::now() + limit;
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady::now()).count();
        if (left <= 0) {
            return false;
        }
        pollfd p{fd, POLLIN, 0};
        const int n = ::poll(&p, 1, static_cast<int>(left));
        if (n > 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
    }
}

}  // namespace

child_process::child_process(const std::function<int(const report&)>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw std::runtime_error{"child_process: pipe2 failed"};
    }
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[0]);
        run_child(body, ends[1]);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
    if (pid_ < 0) {
        ::close(pipe_);
        throw std::runtime_error{"child_process: fork failed"};
    }
}

child_process::child_process(child_process&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, pipe_{std::exchange(other.pipe_, -1)} {}

child_process::~child_process() {
    kill();
    if (pipe_ >= 0) {
        ::close(pipe_);
    }
}

bool child_process::reported(char expected, std::chrono::milliseconds limit) {
    char c = 0;
    return readable(pipe_, limit) && ::read(pipe_, &c, 1) == 1 && c == expected;
}

void child_process::kill() noexcept {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
    }
}

// The pipe's end of file says that the child is gone, so that waitpid need not be polled.
int child_process::join(std::chrono::milliseconds limit) {
    const auto end = steady::now() + limit;
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady::now());
        if (left.count() <= 0 || !readable(pipe_, left)) {
            kill();
            return -1;
        }
        char ignored[64];
        if (::read(pipe_, ignored, sizeof ignored) <= 0) {
            break;
        }
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void* map_shared(std::size_t size) {
    void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        throw std::runtime_error{"map_shared: mmap failed"};
    }
    return p;
}

void unmap_shared(void* address, std::size_t size) noexcept { ::munmap(address, size); }

}  // namespace conch::test
