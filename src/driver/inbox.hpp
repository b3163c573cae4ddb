// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_INBOX_HPP
#define CONCH_SRC_DRIVER_INBOX_HPP

#include "core/hold_view.hpp"

#include <conch/impl/operation.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace conch::impl {

/// What any thread leaves for the client's strand. Linking in an operation or a hold needs no
/// memory, so that it can't fail.
class inbox {
public:
    struct contents {
        operation* operations = nullptr;  ///< in order of arrival
        hold_view* holds = nullptr;       ///< each with a reference of its own
        std::vector<std::uint64_t> cancelled{};
        bool abandoned = false;
    };

    /// Each of these: true if the strand must be woken; nobody else will.
    bool put(operation& op) noexcept {
        const std::lock_guard guard{mutex_};
        op.next = nullptr;
        *last_operation_ = &op;
        last_operation_ = &op.next;
        return put_in();
    }
    bool put(hold_view& view) noexcept {
        const std::lock_guard guard{mutex_};
        intrusive_ptr_add_ref(&view);
        view.next = nullptr;
        *last_hold_ = &view;
        last_hold_ = &view.next;
        return put_in();
    }
    bool cancel(std::uint64_t ticket) {
        const std::lock_guard guard{mutex_};
        cancelled_.push_back(ticket);
        return put_in();
    }
    bool abandon() noexcept {
        const std::lock_guard guard{mutex_};
        abandoned_ = true;
        return put_in();
    }
    /// As if something had been put in.
    bool wakes() noexcept { return !woken_.exchange(true, std::memory_order_acq_rel); }
    /// The wake-up failed: the next one who puts something in tries again.
    void not_woken() noexcept { woken_.exchange(false, std::memory_order_acq_rel); }

    /// The wake-up has come. Is there anything to take? The next one who puts something in wakes
    /// the strand again.
    bool awake() noexcept {
        woken_.exchange(false, std::memory_order_acq_rel);
        return filled_.load(std::memory_order_acquire);
    }

    contents take() noexcept {
        if (!filled_.load(std::memory_order_acquire)) {
            return {};
        }
        const std::lock_guard guard{mutex_};
        filled_.store(false, std::memory_order_relaxed);
        contents c{std::exchange(operations_, nullptr),
                   std::exchange(holds_, nullptr),
                   {},
                   std::exchange(abandoned_, false)};
        c.cancelled.swap(cancelled_);
        last_operation_ = &operations_;
        last_hold_ = &holds_;
        return c;
    }

private:
    /// With the mutex locked, when something was put in.
    bool put_in() noexcept {
        filled_.store(true, std::memory_order_release);
        return wakes();
    }

    std::mutex mutex_{};
    operation* operations_ = nullptr;
    operation** last_operation_ = &operations_;
    hold_view* holds_ = nullptr;
    hold_view** last_hold_ = &holds_;
    std::vector<std::uint64_t> cancelled_{};
    bool abandoned_ = false;
    std::atomic<bool> filled_{false};
    std::atomic<bool> woken_{false};
};

}  // namespace conch::impl

#endif
