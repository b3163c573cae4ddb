// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_FAULTS_HPP
#define CONCH_TEST_SOAK_FAULTS_HPP

#include "soak/scene.hpp"

#include <chrono>
#include <span>
#include <string_view>

namespace conch::soak {

enum class layer { wire, server, process };

/// Where a fault strikes, and for how long.
struct target {
    scene& all;
    stage& at;
    std::size_t worker;
    std::chrono::milliseconds length;
};

/// Something that goes wrong, and comes to an end.
struct fault {
    std::string_view name;
    layer where;
    std::chrono::milliseconds shortest;
    std::chrono::milliseconds longest;
    void (*strike)(target&);
    void (*heal)(target&);
};

std::span<const fault> all_faults();

/// Whether locks of this server may be lost by it: that is declared, and fences must protect.
bool loses_data(const fault& f, const stage& at);

}  // namespace conch::soak

#endif
