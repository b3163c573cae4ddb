// SPDX-License-Identifier: BSL-1.0
#include <conch/quorum_mutex.hpp>

#include "driver/group_core.hpp"
#include "protocol/lock_protocol.hpp"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace conch {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse(const char* why) {
    throw std::invalid_argument{std::string{"conch::quorum_mutex: "} + why};
}

void check(std::span<const std::reference_wrapper<const client>> clients,
           const quorum_options& options) {
    if (clients.empty()) {
        refuse("there is no client");
    }
    if (clients.size() > quorum_mutex::max_clients) {
        refuse("there are more than 31 clients");
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (clients[i].get().id() == clients[j].get().id()) {
                refuse("a client is there twice");
            }
        }
    }
    if (options.answer_timeout < milliseconds{1} ||
        options.answer_timeout > std::chrono::minutes{1}) {
        refuse("answer_timeout must be from 1 ms to one minute");
    }
}

}  // namespace

quorum_mutex::quorum_mutex(std::span<const std::reference_wrapper<const client>> clients,
                           std::string_view name, const quorum_options& options)
    : mutex{[&]() -> impl::core_ptr {
                check(clients, options);
                const auto spec = impl::lock_spec::make(protocol::mutex_protocol, name, {});
                std::vector<impl::group_member> members;
                members.reserve(clients.size());
                for (const client& c : clients) {
                    static_cast<void>(mutex{c, name});  // its client's settings suit the name
                    members.push_back({c.core_, spec});
                }
                const impl::context_use use{members.front().core};
                const auto how = group::terms::majority(members.size(), options.answer_timeout);
                return std::make_shared<impl::group_core>(std::move(members), how);
            }(),
            impl::lock_spec::make(protocol::mutex_protocol, name, {})} {
    static_assert(max_clients == group::most_members);
}

}  // namespace conch
