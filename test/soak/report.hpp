// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_REPORT_HPP
#define CONCH_TEST_SOAK_REPORT_HPP

#include "soak/judge.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace conch::soak {

/// What was done, and what came of it.
struct report {
    struct row {
        bool loses_data = false;
        std::uint64_t injected = 0;
        std::uint64_t survived = 0;  ///< each worker was served again
        std::chrono::milliseconds longest_recovery{};
    };

    std::uint64_t seed = 0;
    double seconds = 0;
    unsigned processes = 0;
    unsigned coroutines = 0;
    std::map<std::string, row> faults{};  ///< by "name, server"
    testimony heard{};

    bool passed() const;
    std::string table() const;
    std::string json() const;
};

}  // namespace conch::soak

#endif
