// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_CLIENT_SERVICE_HPP
#define CONCH_SRC_DRIVER_CLIENT_SERVICE_HPP

#include <boost/asio/execution_context.hpp>

#include <mutex>
#include <vector>

namespace conch::impl {

class client_core;

/// Knows the clients of an execution context, to end them when the context is destroyed: pending
/// operations own their handlers, and handlers may own what keeps the client alive. It also lets
/// holds and mutexes outlive the context.
class client_service : public boost::asio::execution_context::service {
public:
    using key_type = client_service;
    static inline boost::asio::execution_context::id id{};

    explicit client_service(boost::asio::execution_context& context) : service{context} {}

    void add(client_core& core);
    void remove(client_core& core) noexcept;

private:
    void shutdown() override;

    std::mutex mutex_{};
    std::vector<client_core*> cores_{};
};

}  // namespace conch::impl

#endif
