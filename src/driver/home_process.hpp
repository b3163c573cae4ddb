// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_HOME_PROCESS_HPP
#define CONCH_SRC_DRIVER_HOME_PROCESS_HPP

#include <atomic>
#include <cstdint>

namespace conch::impl {

/// The process that an object was made in. `fork()` copies the object into a child that has none of
/// the parent's other threads, but shares its sockets. (By `fork()` alone: what `vfork()` or a bare
/// `clone()` make goes unseen.)
class home_process {
public:
    /// Throws `std::bad_alloc` if there is no memory to watch for forks.
    home_process();

    /// This process was forked from it.
    bool left() const noexcept { return forks_.load(std::memory_order_relaxed) != made_after_; }

private:
    static void forked() noexcept;

    /// Between the first process with a `home_process` and this one.
    static std::atomic<std::uint32_t> forks_;

    std::uint32_t made_after_;
};

}  // namespace conch::impl

#endif
