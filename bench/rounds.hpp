// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_ROUNDS_HPP
#define CONCH_BENCH_ROUNDS_HPP

#include "interruption.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace conch::bench {

/// Each side has its slice in each round, and goes first as often as second.
template <typename Own, typename Raw>
void take_turns(std::size_t rounds, Own own, Raw raw) {
    for (std::size_t round = 0; round < rounds; ++round) {
        throw_if_interrupted();
        if (round % 2 == 0) {
            own();
            raw();
        } else {
            raw();
            own();
        }
    }
}

/// Of the values of each round that both have.
inline std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
    std::vector<double> out;
    for (std::size_t i = 0; i < std::min(of.size(), to.size()); ++i) {
        out.push_back(of[i] / to[i]);
    }
    return out;
}

}  // namespace conch::bench

#endif
