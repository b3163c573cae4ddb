// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TASK_HPP
#define CONCH_SRC_CORE_TASK_HPP

#include "core/check.hpp"
#include "core/recycling.hpp"

#include <coroutine>
#include <cstddef>

namespace conch::core {

/// One conversation of the engine. Starts at once, runs until it first awaits, frees itself at its
/// end. Depth one: a task awaits events, never another task. Nothing destroys a suspended task:
/// whoever wants it gone sends it an event, and it returns.
class task {
    static constexpr std::size_t largest_frame = 512;

public:
    struct promise_type {
        static void* operator new(std::size_t size) {
            CONCH_CHECK(size <= largest_frame);
            return allocate_recycled(size);
        }
        static void operator delete(void* frame, std::size_t size) noexcept {
            free_recycled(frame, size);
        }

        task get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept {
            check_failed("a conversation threw", __FILE__, __LINE__);
        }
    };
};

}  // namespace conch::core

#endif
