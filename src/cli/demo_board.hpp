// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_DEMO_BOARD_HPP
#define CONCH_SRC_CLI_DEMO_BOARD_HPP

#include "cli/wait_histogram.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The memory that the demo's processes share: what the lock protects, what the protected section
// notices, and what each worker tells its parent.
namespace conch::cli {

inline constexpr std::uint32_t most_processes = 256;
inline constexpr std::uint32_t most_coroutines = 10'000;

/// Text that ends at the first NUL, so it may be written by one process and read by another.
template <std::size_t N>
class shared_text {
public:
    bool set(std::string_view text) noexcept {
        const std::size_t n = text.copy(text_.data(), N - 1);
        text_[n] = '\0';
        return n == text.size();
    }
    std::string_view get() const noexcept { return text_.data(); }

private:
    std::array<char, N> text_{};
};

enum class worker_state : std::uint32_t { starting, ready, ended };

/// Written by one worker.
struct alignas(64) worker_record {
    std::atomic<worker_state> state{worker_state::starting};
    std::atomic<std::uint64_t> acquisitions{0};
    std::atomic<std::uint64_t> increments{0};        ///< its share of what `board::counter` must be
    std::atomic<std::uint64_t> overlaps{0};          ///< entered while someone was inside
    std::atomic<std::uint64_t> fence_errors{0};      ///< its fence was not above the one before
    std::atomic<std::uint64_t> lost_holds{0};        ///< unlock said that the hold had been lost
    std::atomic<std::uint64_t> local_hand_offs{0};   ///< from another coroutine of this process
    std::atomic<std::uint64_t> remote_hand_offs{0};  ///< from another process
    wait_histogram waits;                            ///< from `async_lock` to the grant
    shared_text<512> error;  ///< why it ended early; read once the process is gone
};

struct demo_board {
    static constexpr std::uint64_t magic_number = 0x636f'6e63'682d'6431;
    std::uint64_t magic = magic_number;
    std::uint32_t processes = 0;
    std::uint32_t coroutines = 0;
    shared_text<4096> server_url;
    shared_text<128> lock_name;

    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};

    /// What the lock protects. Atomic only so that it is defined behaviour: it is read, and later
    /// written plus one, in two steps with other work between, so two holders lose an update.
    alignas(64) std::atomic<std::uint64_t> counter{0};
    std::atomic<std::uint64_t> last_fence{0};   ///< the same: read and written inside only
    std::atomic<std::uint64_t> last_holder{0};  ///< the same: process (from 1) << 32 | coroutine
    std::atomic<std::uint32_t> inside{0};       ///< how many are inside: never more than one

    std::array<worker_record, most_processes> workers;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<worker_state>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

/// A mapping of a `demo_board`.
class shared_board {
public:
    /// A new one. Throws `command_error`.
    shared_board();
    /// That of the parent, by its inherited descriptor. Throws `command_error` if it is none.
    explicit shared_board(int inherited);
    ~shared_board();
    shared_board(const shared_board&) = delete;
    shared_board& operator=(const shared_board&) = delete;

    demo_board* operator->() const noexcept { return board_; }
    demo_board& operator*() const noexcept { return *board_; }
    /// Close-on-exec.
    int descriptor() const noexcept { return fd_; }

private:
    int fd_;
    demo_board* board_ = nullptr;
};

}  // namespace conch::cli

#endif
