// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_OWNER_HPP
#define CONCH_OWNER_HPP

#include <atomic>
#include <cstdint>

namespace conch {

/// Names a logical owner, so that its acquisitions of one mutex nest instead of waiting for each
/// other. Re-entrancy never follows a thread: two coroutines on one thread exclude each other.
///
/// Local to the process, and to one client: the same owner on two clients doesn't nest. Must
/// outlive the operation that it is passed to, not the hold. Thread safety: distinct objects are
/// safe; one object may be passed to concurrent calls.
class owner {
public:
    owner() noexcept : id_{next_.fetch_add(1, std::memory_order_relaxed)} {}
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    /// Unique in this process; never 0.
    std::uint64_t id() const noexcept { return id_; }

private:
    static inline std::atomic<std::uint64_t> next_{1};
    std::uint64_t id_;
};

}  // namespace conch

#endif
