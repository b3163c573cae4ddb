// SPDX-License-Identifier: BSL-1.0
// The memory of operations whose handlers have no allocator of their own.
#include <conch/impl/operation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace {

template <typename T>
using memory_of = typename conch::impl::rebound<std::allocator<void>, T>::type;

TEST(operation_memory, what_must_lie_on_a_wider_boundary_does) {
    struct alignas(64) wide {
        char bytes[192];
    };
    memory_of<wide> memory;
    std::vector<wide*> all;
    for (int i = 0; i < 64; ++i) {
        all.push_back(memory.allocate(1));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % alignof(wide), 0u);
    }
    for (wide* const w : all) {
        memory.deallocate(w, 1);
    }
}

}  // namespace
