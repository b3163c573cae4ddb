// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_CONTEXT_HPP
#define CONCH_SRC_GROUP_CONTEXT_HPP

#include "core/random.hpp"
#include "core/timer_heap.hpp"
#include "group/questions.hpp"
#include "group/terms.hpp"
#include "hold/pending.hpp"

#include <conch/config.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace conch::group {

/// What a group knows by the time alone: it waits so long for its members to tell first, which know
/// why.
inline constexpr duration members_first = std::chrono::milliseconds{1};

class holding;
class members;
class task;

/// What the tasks and holds of a group share.
struct context {
    duration jitter(duration d) noexcept { return random.jitter(d); }

    members& all;
    const std::size_t size;
    const config& settings;
    const terms how;
    core::random random;
    time_point now{};
    core::timer_heap timers{};
    std::vector<lock::completion> completions{};
    questions asked{};
    // Trees: most groups have one or two of each, for which a hash table is large.
    std::map<void*, std::shared_ptr<task>> tasks{};  // by the caller's tag
    std::map<holding*, std::shared_ptr<holding>> holdings{};
};

}  // namespace conch::group

#endif
