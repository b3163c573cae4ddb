// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_FAULTS_HPP
#define CONCH_TEST_SOAK_FAULTS_HPP

#include "soak/scene.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conch::soak {

enum class layer { wire, server, process };

/// Where a fault strikes, and for how long.
struct target {
    scene& all;
    stage& at;
    std::size_t worker;  ///< the client process
    bool everyone;       ///< the wires of all processes, not only of that one
    std::chrono::milliseconds length;

    template <typename Function>
    void each_wire(Function f) {
        for (std::size_t i = 0; i < at.wires.size(); ++i) {
            if (everyone || i == worker) {
                f(*at.wires[i]);
            }
        }
    }
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

/// Those of these names; without a name all of them. Throws `std::invalid_argument`.
std::vector<const fault*> faults_named(const std::vector<std::string>& names);

/// Whether locks of this server may be lost by it: that is declared, and fences must protect.
bool loses_data(const fault& f, const stage& at);

}  // namespace conch::soak

#endif
