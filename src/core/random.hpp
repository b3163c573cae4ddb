// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_RANDOM_HPP
#define CONCH_SRC_CORE_RANDOM_HPP

#include <conch/clock.hpp>

#include <cstdint>

namespace conch::core {

/// Jitter, from a seed that is passed in: SplitMix64 (Steele, Lea, Flood 2014). Not for secrets.
class random {
public:
    explicit random(std::uint64_t seed) noexcept : state_{seed} {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Evenly from [d/2, d].
    duration jitter(duration d) noexcept {
        const auto half = static_cast<std::uint64_t>(d.count() / 2);
        return d - duration{static_cast<duration::rep>(half == 0 ? 0 : next() % half)};
    }

private:
    std::uint64_t state_;
};

}  // namespace conch::core

#endif
