// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_QUERY_HPP
#define CONCH_SRC_GROUP_QUERY_HPP

#include "group/context.hpp"

#include <conch/lock_status.hpp>
#include <conch/options.hpp>

#include <cstddef>
#include <span>

namespace conch::group {

/// What a group's members say of a lock, as one: see `quorum_mutex`. `answers`: of those who
/// answered, in the order given.
lock_status merged(std::span<const lock_status> answers, std::size_t majority);

void start_status(context& ctx, const status_options& options, void* tag, lock_status* result);
void start_force_unlock(context& ctx, void* tag);

}  // namespace conch::group

#endif
