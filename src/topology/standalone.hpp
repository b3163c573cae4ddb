// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_STANDALONE_HPP
#define CONCH_SRC_TOPOLOGY_STANDALONE_HPP

#include "wire/link.hpp"

#include <string_view>
#include <utility>

namespace conch::topology {

/// One server: it serves every key.
class standalone {
public:
    template <typename... Args>
    explicit standalone(Args&&... args) : link_(std::forward<Args>(args)...) {}

    wire::link& serving(std::string_view /*key*/) noexcept { return link_; }
    wire::link& only() noexcept { return link_; }
    const wire::link& only() const noexcept { return link_; }

private:
    wire::link link_;
};

}  // namespace conch::topology

#endif
