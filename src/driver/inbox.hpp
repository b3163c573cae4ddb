// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_INBOX_HPP
#define CONCH_SRC_DRIVER_INBOX_HPP

#include "core/hold_view.hpp"

#include <conch/impl/operation.hpp>

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
        return !std::exchange(woken_, true);
    }
    bool put(hold_view& view) noexcept {
        const std::lock_guard guard{mutex_};
        intrusive_ptr_add_ref(&view);
        view.next = nullptr;
        *last_hold_ = &view;
        last_hold_ = &view.next;
        return !std::exchange(woken_, true);
    }
    bool cancel(std::uint64_t ticket) {
        const std::lock_guard guard{mutex_};
        cancelled_.push_back(ticket);
        return !std::exchange(woken_, true);
    }
    bool abandon() noexcept {
        const std::lock_guard guard{mutex_};
        abandoned_ = true;
        return !std::exchange(woken_, true);
    }
    /// The wake-up failed: the next one who puts something in tries again.
    void not_woken() noexcept {
        const std::lock_guard guard{mutex_};
        woken_ = false;
    }

    /// The wake-up has come. Is there anything to take? The next one who puts something in wakes
    /// the strand again.
    bool awake() noexcept {
        const std::lock_guard guard{mutex_};
        woken_ = false;
        return operations_ || holds_ || !cancelled_.empty() || abandoned_;
    }

    contents take() noexcept {
        const std::lock_guard guard{mutex_};
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
    std::mutex mutex_{};
    operation* operations_ = nullptr;
    operation** last_operation_ = &operations_;
    hold_view* holds_ = nullptr;
    hold_view** last_hold_ = &holds_;
    std::vector<std::uint64_t> cancelled_{};
    bool abandoned_ = false;
    bool woken_ = false;
};

}  // namespace conch::impl

#endif
