// SPDX-License-Identifier: BSL-1.0
#include "core/recycling.hpp"
#include "core/sanitizer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace {

using conch::core::allocate_recycled;
using conch::core::free_recycled;

TEST(recycling, what_a_thread_frees_it_gets_again_for_the_same_size) {
    if (conch::core::address_sanitizer) {
        GTEST_SKIP() << "nothing is kept in such a build";
    }
    void* const a = allocate_recycled(200);
    void* const b = allocate_recycled(200);
    free_recycled(a, 200);
    free_recycled(b, 200);
    void* const other = allocate_recycled(300);
    EXPECT_TRUE(other != a && other != b);
    EXPECT_EQ(allocate_recycled(200), b);
    EXPECT_EQ(allocate_recycled(200), a);
    free_recycled(a, 200);
    free_recycled(b, 200);
    free_recycled(other, 300);
}

TEST(recycling, memory_is_as_large_as_was_asked_for) {
    std::vector<std::pair<void*, std::size_t>> all;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t size = 1; size < 1200; size += 7) {
            void* const p = allocate_recycled(size);
            std::memset(p, 1, size);  // the address sanitizer looks on
            all.emplace_back(p, size);
        }
        for (const auto& [p, size] : all) {
            free_recycled(p, size);
        }
        all.clear();
    }
}

TEST(recycling, what_one_thread_allocates_another_may_free_and_end) {
    void* p = nullptr;
    std::thread{[&] { p = allocate_recycled(100); }}.join();
    std::thread{[&] { free_recycled(p, 100); }}.join();
    void* const mine = allocate_recycled(100);
    EXPECT_NE(mine, nullptr);
    free_recycled(mine, 100);
}

}  // namespace
