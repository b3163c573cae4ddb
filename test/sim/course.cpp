// SPDX-License-Identifier: BSL-1.0
#include "sim/course.hpp"

#include <cstddef>
#include <string>

namespace conch::sim {
namespace {

constexpr std::size_t most_violations = 8;
/// Some hundred times as many as usual: a client that spins.
constexpr std::uint64_t most_events = 8'000'000;

}  // namespace

course::course(std::uint64_t seed, bool print) : world_{seed, print} { outcome_.seed = seed; }

void course::violate(std::string_view checker, std::string_view what) {
    world_.note("VIOLATION");
    if (outcome_.violations.size() < most_violations) {
        outcome_.violations.push_back(std::string{checker} + ": " + std::string{what} + ", at " +
                                      std::to_string(world_.now() / micros) + " us");
    }
}

bool course::enough() const noexcept {
    return outcome_.violations.size() >= most_violations || world_.events() > most_events;
}

void course::run_until(instant until) {
    while (!enough() && world_.step(until)) {
    }
}

outcome course::finish() {
    if (world_.events() > most_events) {
        violate("bounds", "it never ends");
    }
    for (const auto& [f, what_came_of_it] : attempts_) {
        ++outcome_.attempts[static_cast<std::size_t>(f)];
        outcome_.faults[static_cast<std::size_t>(f)] += what_came_of_it.was_felt() ? 1 : 0;
    }
    outcome_.trace_hash = world_.trace_hash();
    outcome_.events = world_.events();
    return std::move(outcome_);
}

}  // namespace conch::sim
