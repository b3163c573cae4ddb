// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_BACKEND_HPP
#define CONCH_SRC_DRIVER_BACKEND_HPP

#include "driver/home_process.hpp"

#include <conch/config.hpp>
#include <conch/impl/operation.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>

namespace conch::impl {

/// What the public handles hand their operations to: one client, or a quorum of clients. All of it
/// from any thread.
class backend {
public:
    backend() = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;

    virtual void submit(operation& op) noexcept = 0;
    virtual void cancel(std::uint64_t ticket) noexcept = 0;
    /// The hold's `asked` was set.
    virtual void look_at(hold_view& view) noexcept = 0;
    virtual const config& settings() const noexcept = 0;
    /// Who is told of the acquires that are submitted to it; null: nobody. The members of a quorum
    /// tell their own observers.
    virtual observer* told() const noexcept = 0;
    /// Their URLs, for messages.
    virtual std::string servers() const = 0;
    /// None once the execution context is gone.
    virtual boost::asio::any_io_executor executor() const noexcept = 0;
    /// False if the execution context is gone; else it stays until `leave_context()`.
    virtual bool enter_context() noexcept = 0;
    virtual void leave_context() noexcept = 0;

    /// The execution context is being destroyed: no handler will run any more.
    virtual void context_gone() noexcept = 0;
    /// In a forked child that will run the execution context: what the server sends is the parent's
    /// to read.
    virtual void leave_to_parent() noexcept = 0;
    /// Null while it is being destroyed.
    virtual core_ptr keep() noexcept = 0;

    /// This process was forked from the one that made it: it, what it shares with other threads and
    /// its connections are in use there, and may only be looked at here.
    bool inherited() const noexcept { return home_.left(); }

    std::uint64_t next_ticket() noexcept {
        return next_ticket_.fetch_add(1, std::memory_order_relaxed);
    }

protected:
    ~backend() = default;

private:
    const home_process home_{};
    std::atomic<std::uint64_t> next_ticket_{1};
};

/// As `submit`, of who acts for a caller whose call is over.
void submit_for_another(operation& op) noexcept;

}  // namespace conch::impl

#endif
