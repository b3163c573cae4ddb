// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TASK_HPP
#define CONCH_SRC_CORE_TASK_HPP

#include "core/check.hpp"
#include "core/sanitizer.hpp"

#include <array>
#include <coroutine>
#include <cstddef>
#include <new>

namespace conch::core {

/// Keeps the frames of ended conversations for the next ones. One size of frame, the first seen;
/// others go to the heap.
class frame_pool {
public:
    frame_pool() = default;
    frame_pool(const frame_pool&) = delete;
    frame_pool& operator=(const frame_pool&) = delete;
    ~frame_pool();

    void* allocate(std::size_t size);
    void deallocate(void* frame, std::size_t size) noexcept;

    /// The largest frame that was asked for.
    std::size_t largest() const noexcept { return largest_; }

private:
    static constexpr std::size_t room = 64;
    static constexpr std::size_t kept = address_sanitizer ? 0 : room;

    std::array<void*, room> free_{};
    std::size_t count_ = 0;
    std::size_t size_ = 0;
    std::size_t largest_ = 0;
};

/// One conversation of the engine. Starts at once, runs until it first awaits, frees itself at its
/// end. Depth one: a task awaits events, never another task. Nothing destroys a suspended task:
/// whoever wants it gone sends it an event, and it returns.
///
/// The function's first parameter has a member `frame_pool& frames()`.
class task {
public:
    struct promise_type {
        template <typename Subject, typename... More>
        static void* operator new(std::size_t size, Subject& subject, More&...) {
            frame_pool& pool = subject.frames();
            const std::size_t whole = size + sizeof(header);
            void* const p = pool.allocate(whole);
            return ::new (p) header{&pool, whole} + 1;
        }
        static void operator delete(void* frame) noexcept {
            header* const h = static_cast<header*>(frame) - 1;
            h->pool->deallocate(h, h->size);
        }

        task get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept {
            check_failed("a conversation threw", __FILE__, __LINE__);
        }

    private:
        struct alignas(std::max_align_t) header {
            frame_pool* pool;
            std::size_t size;
        };
    };
};

}  // namespace conch::core

#endif
