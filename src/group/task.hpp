// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_TASK_HPP
#define CONCH_SRC_GROUP_TASK_HPP

#include "group/context.hpp"

#include <memory>
#include <utility>

namespace conch::group {

/// An operation of a group on its way, from its caller's call until its completion is queued.
class task : public std::enable_shared_from_this<task> {
public:
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    virtual ~task() = default;

    /// It is among those of the group until it completes.
    void enter() { ctx_.tasks.emplace(tag_, shared_from_this()); }
    /// The caller no longer waits: completes with `why`.
    virtual void cancel(error_code why) = 0;

protected:
    task(context& ctx, void* tag) noexcept : ctx_{ctx}, tag_{tag} {}

    context& ctx() const noexcept { return ctx_; }
    bool completed() const noexcept { return tag_ == nullptr; }
    /// What its completion says beside the error.
    void say(impl::remark r) noexcept { said_ = r; }
    /// Once; the caller keeps this alive.
    void complete(error_code ec, impl::view_ptr view = nullptr) {
        if (void* const tag = std::exchange(tag_, nullptr)) {
            ctx_.tasks.erase(tag);
            ctx_.completions.push_back({tag, ec, std::move(view), said_});
        }
    }

private:
    context& ctx_;
    void* tag_;
    impl::remark said_ = impl::remark::none;
};

}  // namespace conch::group

#endif
