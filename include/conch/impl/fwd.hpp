// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_FWD_HPP
#define CONCH_IMPL_FWD_HPP

#include <conch/clock.hpp>
#include <conch/impl/built_with.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

// What the public handles hold on to; defined in the compiled library.
namespace conch::impl {

class backend;
struct hold_view;
class lock_spec;
class rate_spec;
class count_spec;
struct operation;
class mutex_source;
class section_guard;

using core_ptr = std::shared_ptr<backend>;
using view_ptr = boost::intrusive_ptr<hold_view>;
using spec_ptr = boost::intrusive_ptr<const lock_spec>;
using rate_spec_ptr = boost::intrusive_ptr<const rate_spec>;
using count_spec_ptr = boost::intrusive_ptr<const count_spec>;

void intrusive_ptr_add_ref(hold_view*) noexcept;
void intrusive_ptr_release(hold_view*) noexcept;
void intrusive_ptr_add_ref(const lock_spec*) noexcept;
void intrusive_ptr_release(const lock_spec*) noexcept;
void intrusive_ptr_add_ref(const rate_spec*) noexcept;
void intrusive_ptr_release(const rate_spec*) noexcept;
void intrusive_ptr_add_ref(const count_spec*) noexcept;
void intrusive_ptr_release(const count_spec*) noexcept;

/// Keeps the execution context of a client, if it is still there, from being destroyed. A call that
/// starts an operation has one, so that a context may go while other threads make such calls.
class context_use {
public:
    explicit context_use(const core_ptr& core) noexcept;
    ~context_use();
    context_use(const context_use&) = delete;
    context_use& operator=(const context_use&) = delete;

private:
    core_ptr core_;  ///< null if there is no context
};

/// Memory of operations, recycled by each thread.
void* allocate_operation(std::size_t size);
void free_operation(void* p, std::size_t size) noexcept;
/// Hands an operation to the strand of the client, or of the quorum; it will be finished exactly
/// once, never in here.
void submit(operation&, this_build) noexcept;
/// Asks for the cancellation of the operation with this ticket; any thread, at any time.
void request_cancel(const std::weak_ptr<backend>&, std::uint64_t ticket) noexcept;
std::uint64_t next_ticket(const core_ptr&) noexcept;
/// Of the client's `config`.
duration default_lease(const core_ptr&) noexcept;
/// The client's executor; the system's, where there is no client (an empty hold).
boost::asio::any_io_executor executor_of(const core_ptr&) noexcept;

}  // namespace conch::impl

#endif
