// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COURSE_HPP
#define CONCH_TEST_SIM_COURSE_HPP

#include "sim/effect.hpp"
#include "sim/outcome.hpp"
#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>

namespace conch::sim {

/// A world that takes its course: which faults happen in it, and which rules are violated.
class course {
public:
    course(const course&) = delete;
    course& operator=(const course&) = delete;

    world& the_world() noexcept { return world_; }
    const world& the_world() const noexcept { return world_; }
    /// A fault happens: counted in the outcome, and what came of it until the end of the run.
    effect& attempt(fault f) { return attempts_.emplace_back(f, effect{}).second; }
    void violate(std::string_view checker, std::string_view what);

protected:
    course(std::uint64_t seed, bool print);
    ~course() = default;

    bool enough() const noexcept;
    void run_until(instant until);
    /// All has come to rest.
    outcome finish();

    world world_;
    outcome outcome_{};

private:
    std::deque<std::pair<fault, effect>> attempts_{};
};

}  // namespace conch::sim

#endif
