// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_CHILD_PROCESS_HPP
#define CONCH_TEST_SUPPORT_CHILD_PROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <new>
#include <type_traits>

namespace conch::test {

/// A forked child that runs a function: another process that takes locks, and can be killed.
/// Start it while this process has one thread. The destructor kills and reaps it.
class child_process {
public:
    /// What the child calls to tell its parent something, one byte at a time.
    using report = std::function<void(char)>;

    /// The child exits with what `body` returns, with 70 if it throws.
    explicit child_process(const std::function<int(const report&)>& body);
    ~child_process();
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&&) = delete;

    /// True if the child's next report is `expected`; false if not, or if none comes in time.
    bool reported(char expected, std::chrono::milliseconds limit = std::chrono::seconds{20});
    /// SIGKILL, and reaps it.
    void kill() noexcept;
    /// Waits until the child is gone: its exit status; -1 if a signal ended it, or the time is up.
    int join(std::chrono::milliseconds limit = std::chrono::seconds{30});

private:
    pid_t pid_ = -1;
    int pipe_ = -1;
};

/// A value in memory that forked children share. Made before they are.
void* map_shared(std::size_t size);
void unmap_shared(void* address, std::size_t size) noexcept;

template <typename T>
class shared_value {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    shared_value() : value_{::new (map_shared(sizeof(T))) T{}} {}
    ~shared_value() { unmap_shared(value_, sizeof(T)); }
    shared_value(const shared_value&) = delete;
    shared_value& operator=(const shared_value&) = delete;

    T& operator*() const noexcept { return *value_; }
    T* operator->() const noexcept { return value_; }

private:
    T* value_;
};

}  // namespace conch::test

#endif
