// SPDX-License-Identifier: BSL-1.0
#include "core/task.hpp"

#include <algorithm>

namespace conch::core {

frame_pool::~frame_pool() {
    while (count_ > 0) {
        ::operator delete(free_[--count_]);
    }
}

void* frame_pool::allocate(std::size_t size) {
    largest_ = std::max(largest_, size);
    if (size_ == 0) {
        size_ = size;
    }
    if (size == size_ && count_ > 0) {
        return free_[--count_];
    }
    return ::operator new(size);
}

void frame_pool::deallocate(void* frame, std::size_t size) noexcept {
    if (size == size_ && count_ < kept) {
        free_[count_++] = frame;
        return;
    }
    ::operator delete(frame);
}

}  // namespace conch::core
