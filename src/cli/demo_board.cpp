// SPDX-License-Identifier: BSL-1.0
#include "cli/demo_board.hpp"

#include "cli/command_error.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace conch::cli {
namespace {

void* map(int fd) {
    void* const at = ::mmap(nullptr, sizeof(demo_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

shared_board::shared_board() : fd_{::memfd_create("conch-demo", MFD_CLOEXEC)} {
    void* at = nullptr;
    if (fd_ >= 0 && ::ftruncate(fd_, sizeof(demo_board)) == 0) {
        at = map(fd_);
    }
    if (at == nullptr) {
        const int error = errno;
        ::close(fd_);
        throw os_failure("cannot share memory between processes", error);
    }
    board_ = ::new (at) demo_board;
}

shared_board::shared_board(int inherited) : fd_{inherited} {
    struct stat file{};
    if (::fstat(fd_, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == sizeof(demo_board)) {
        board_ = static_cast<demo_board*>(map(fd_));
    }
    if (board_ == nullptr || board_->magic != demo_board::magic_number) {
        throw command_error(exit_code::usage, "this command is for \"conch demo\" alone");
    }
}

shared_board::~shared_board() {
    ::munmap(board_, sizeof(demo_board));
    ::close(fd_);
}

}  // namespace conch::cli
