// SPDX-License-Identifier: BSL-1.0
#include "cli/progress_pipe.hpp"

#include "cli/command_error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace conch::cli {
namespace {

struct pipe_ends {
    int reader;
    int both;  ///< the other end, to read from as well
};

int checked(int descriptor, const std::string& failure) {
    if (descriptor < 0) {
        throw os_failure(failure, errno);
    }
    return descriptor;
}

pipe_ends open_pipe() {
    int ends[2];
    checked(::pipe2(ends, O_CLOEXEC), "cannot make a pipe");
    const std::string writer = "/proc/self/fd/" + std::to_string(ends[1]);
    const int both = checked(::open(writer.c_str(), O_RDWR | O_CLOEXEC),
                             "cannot open " + writer + ", as --progress-within has to");
    ::close(ends[1]);
    return {.reader = ends[0], .both = both};
}

int moved(int descriptor, int least) {
    const int to = checked(::fcntl(descriptor, F_DUPFD_CLOEXEC, least), "cannot make a pipe");
    ::close(descriptor);
    return to;
}

}  // namespace

progress_pipe::progress_pipe() {
    const pipe_ends first = open_pipe();
    first_reader_ = moved(first.reader, 4);
    command_end_ = moved(first.both, 3);
}

progress_pipe::~progress_pipe() {
    ::close(command_end_);
    if (first_reader_ >= 0) {
        ::close(first_reader_);
    }
}

int progress_pipe::open_anew() {
    if (first_reader_ >= 0) {
        return std::exchange(first_reader_, -1);
    }
    const pipe_ends next = open_pipe();
    ::dup3(next.both, command_end_, O_CLOEXEC);
    ::close(next.both);
    return next.reader;
}

}  // namespace conch::cli
