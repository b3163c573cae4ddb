// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_RECYCLING_HPP
#define CONCH_SRC_CORE_RECYCLING_HPP

#include <cstddef>

namespace conch::core {

/// Memory for what comes and goes often, on any thread: each keeps some of what it frees for what
/// it allocates next.
void* allocate_recycled(std::size_t size);
void free_recycled(void* p, std::size_t size) noexcept;

}  // namespace conch::core

#endif
