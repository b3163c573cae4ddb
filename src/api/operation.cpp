// SPDX-License-Identifier: BSL-1.0
#include <conch/impl/operation.hpp>

#include "api/acting_for.hpp"
#include "core/hold_view.hpp"
#include "core/recycling.hpp"
#include "core/time.hpp"
#include "driver/backend.hpp"

#include <conch/observer.hpp>

#include <boost/asio/system_executor.hpp>

#include <new>
#include <utility>

namespace conch::impl {
namespace {

// Dropped, as any other, where its context is gone.
void refuse_inherited(operation& op) noexcept {
    const core_ptr core = op.core;
    const context_use use{core};
    op.ec = errc::forked;
    op.finish(&op, static_cast<bool>(core->executor()));
}

// It counts as released at once: its destructor must not release what is to be left.
bool ends_hold(const operation& op) noexcept {
    return &op.what == &request::unlock ||
           (&op.what == &request::leave && core::lease_is_good(op.options.amount(), false));
}

thread_local const caller_context* acts_for = nullptr;

// This is its thread; what begins the acquire may run on another one.
void note_caller(operation& op) noexcept {
    if (caller_context c = acts_for ? *acts_for : present_caller(op.core)) {
        op.caller.reset(new (std::nothrow) caller_context{std::move(c)});
    }
}

}  // namespace

caller_context present_caller(const core_ptr& core) noexcept {
    observer* const o = core ? core->told() : nullptr;
    return o && !core->inherited() ? o->caller_context() : nullptr;
}

acting_for::acting_for(caller_context caller) noexcept
    : caller_{std::move(caller)}, before_{acts_for} {
    acts_for = &caller_;
}

acting_for::~acting_for() { acts_for = before_; }

context_use::context_use(const core_ptr& core) noexcept
    : core_{core && core->enter_context() ? core : nullptr} {}

context_use::~context_use() {
    if (core_) {
        core_->leave_context();
    }
}

void* allocate_operation(std::size_t size) { return core::allocate_recycled(size); }

void free_operation(void* p, std::size_t size) noexcept { core::free_recycled(p, size); }

void submit(operation& op, this_build) noexcept {
    if (&op.what == &request::lock || &op.what == &request::try_lock) {
        note_caller(op);
    }
    submit_for_another(op);
}

void submit_for_another(operation& op) noexcept {
    if (!op.core) {  // of an empty hold
        op.ec = errc::not_owner;
        op.finish(&op, true);
        return;
    }
    if (op.core->inherited()) {
        refuse_inherited(op);
        return;
    }
    if (op.view && ends_hold(op)) {
        op.view->asked.store(hold_request::release, std::memory_order_release);
    }
    // From here on the client owns the operation, not the other way round.
    const core_ptr core = std::move(op.core);
    core->submit(op);
}

void request_cancel(const std::weak_ptr<backend>& core, std::uint64_t ticket) noexcept {
    if (const core_ptr c = core.lock(); c && !c->inherited()) {
        c->cancel(ticket);
    }
}

std::uint64_t next_ticket(const core_ptr& core) noexcept { return core ? core->next_ticket() : 0; }

duration default_lease(const core_ptr& core) noexcept { return core->settings().default_lease; }

boost::asio::any_io_executor executor_of(const core_ptr& core) noexcept {
    if (core) {
        if (boost::asio::any_io_executor of_client = core->executor()) {
            return of_client;
        }
    }
    return boost::asio::system_executor{};
}

}  // namespace conch::impl
