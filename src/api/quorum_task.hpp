// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_TASK_HPP
#define CONCH_SRC_API_QUORUM_TASK_HPP

#include "core/hold_view.hpp"

#include <conch/impl/operation.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace conch::impl {

class quorum_core;

/// An operation of a quorum on its way: completes it once, or drops it with itself.
class quorum_task : public std::enable_shared_from_this<quorum_task> {
public:
    quorum_task(const quorum_task&) = delete;
    quorum_task& operator=(const quorum_task&) = delete;
    virtual ~quorum_task() {
        if (op_) {
            op_->finish(op_, false);
        }
    }

    /// The caller no longer waits.
    virtual void cancel() = 0;
    /// 0: can't be cancelled.
    std::uint64_t ticket() const noexcept { return ticket_; }

protected:
    quorum_task(std::shared_ptr<quorum_core> core, operation& op) noexcept
        : core_{std::move(core)}, op_{&op}, ticket_{op.ticket} {}

    quorum_core& core() const noexcept { return *core_; }
    operation& op() const noexcept { return *op_; }
    bool completed() const noexcept { return op_ == nullptr; }
    /// The caller keeps this alive.
    void complete(error_code ec, view_ptr view = nullptr);

private:
    const std::shared_ptr<quorum_core> core_;
    operation* op_;
    const std::uint64_t ticket_;
};

}  // namespace conch::impl

#endif
