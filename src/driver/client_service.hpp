// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_CLIENT_SERVICE_HPP
#define CONCH_SRC_DRIVER_CLIENT_SERVICE_HPP

#include <boost/asio/execution_context.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace conch::impl {

class backend;

/// Knows the clients and quorums of an execution context, to end them when the context is
/// destroyed: pending operations own their handlers, and handlers may own what keeps the client
/// alive. It also lets holds and mutexes outlive the context.
class client_service : public boost::asio::execution_context::service {
public:
    using key_type = client_service;
    static inline boost::asio::execution_context::id id{};

    explicit client_service(boost::asio::execution_context& context) : service{context} {}

    /// Outlives the service where a client does.
    class registry {
    public:
        void add(backend& core);
        /// The core uses the execution context no more.
        void remove(backend& core) noexcept;
        /// Waits for those that are being destroyed; the registry is empty then.
        std::vector<std::shared_ptr<backend>> take();
        /// In a forked child, which has one thread.
        void leave_to_parent() noexcept;

    private:
        std::mutex mutex_{};
        std::condition_variable removed_{};
        std::vector<backend*> cores_{};
    };
    const std::shared_ptr<registry>& clients() const noexcept { return clients_; }

private:
    void shutdown() override;
    void notify_fork(boost::asio::execution_context::fork_event event) override;

    std::shared_ptr<registry> clients_ = std::make_shared<registry>();
};

}  // namespace conch::impl

#endif
