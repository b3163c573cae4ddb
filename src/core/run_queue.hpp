// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_RUN_QUEUE_HPP
#define CONCH_SRC_CORE_RUN_QUEUE_HPP

#include <coroutine>
#include <utility>

namespace conch::core {

/// Where one conversation sleeps until something wakes it. Embedded in what it is about.
class sleeper {
public:
    sleeper() = default;
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;

    struct awaiter {
        sleeper* self;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> h) const noexcept { self->handle_ = h; }
        void await_resume() const noexcept {}
    };
    /// Suspends the conversation until the run queue comes to it after a `run_queue::wake`.
    awaiter sleep() noexcept { return awaiter{this}; }
    bool asleep() const noexcept { return static_cast<bool>(handle_); }

private:
    friend class run_queue;
    std::coroutine_handle<> handle_{};
    sleeper* next_ = nullptr;  // in the run queue; the last one's is itself
};

/// Conversations that were woken, in order. They are resumed from here and never from within what
/// woke them: the engine is consistent when they run, and the stack stays flat.
class run_queue {
public:
    /// No-op if nobody sleeps there, or it was woken already.
    void wake(sleeper& s) noexcept {
        if (!s.handle_ || s.next_) {
            return;
        }
        s.next_ = &s;
        if (last_) {
            last_->next_ = &s;
        } else {
            first_ = &s;
        }
        last_ = &s;
    }

    bool empty() const noexcept { return first_ == nullptr; }

    /// Resumes until nobody is left.
    void run() {
        while (first_) {
            sleeper* const s = first_;
            first_ = std::exchange(s->next_, nullptr);
            if (first_ == s) {
                first_ = last_ = nullptr;
            }
            std::exchange(s->handle_, nullptr).resume();
        }
    }

private:
    sleeper* first_ = nullptr;
    sleeper* last_ = nullptr;
};

}  // namespace conch::core

#endif
