// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_CLOSER_HPP
#define CONCH_TEST_SIM_CLOSER_HPP

#include "sim/world.hpp"

#include <cstdint>

namespace conch::sim {

class simulation;

/// Shuts clients down, with a drain or without one, whatever they are at; or destroys one at once.
/// Another takes the place of each.
class closer {
public:
    closer(simulation& all, std::uint64_t seed);
    closer(const closer&) = delete;
    closer& operator=(const closer&) = delete;

    void start();

private:
    void close_one(std::uint64_t, std::uint64_t);
    void shut_down(std::uint64_t client, std::uint64_t drain);
    void replace(std::uint64_t client, std::uint64_t);
    void destroy(std::uint64_t client);

    simulation& all_;
    dice chance_;
};

}  // namespace conch::sim

#endif
