// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_QUERY_HPP
#define CONCH_SRC_API_QUORUM_QUERY_HPP

#include "api/quorum_core.hpp"

#include <conch/lock_status.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace conch::impl {

/// What a quorum's members say of a lock, as one: see `quorum_mutex`. `answers`: of those who
/// answered, in the order given.
lock_status merged(std::span<const lock_status> answers, std::size_t majority);

void start_status(const std::shared_ptr<quorum_core>& core, operation& op);
void start_force_unlock(const std::shared_ptr<quorum_core>& core, operation& op);

}  // namespace conch::impl

#endif
