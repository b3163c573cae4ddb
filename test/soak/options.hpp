// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_OPTIONS_HPP
#define CONCH_TEST_SOAK_OPTIONS_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::soak {

/// What was asked for on the command line.
struct options {
    double seconds = 60;
    std::uint64_t seed = 0;
    unsigned processes = 4;
    unsigned coroutines = 4;
    unsigned names = 2;               ///< locks on each server
    std::vector<std::string> only{};  ///< faults; empty: all of them
    bool json = false;
    bool list = false;
    bool help = false;
    std::string help_text{};

    // For the program's own client processes.
    unsigned worker = 0;  ///< from 1; 0: this is the parent
    std::string resource{};
    std::string durable{};
    std::string forgetful{};
};

/// Throws `std::exception` for a wrong command line.
options read_options(int argc, char** argv);

/// The settings of the clients under test, known to both sides.
inline constexpr std::chrono::milliseconds lease{1000};
inline constexpr std::chrono::milliseconds short_lease{400};
inline constexpr const char* client_name = "soak";

}  // namespace conch::soak

#endif
