// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_UNIT_LONE_CLIENT_HPP
#define CONCH_TEST_SIM_UNIT_LONE_CLIENT_HPP

#include "sim/client_node.hpp"
#include "sim/network.hpp"
#include "sim/server_node.hpp"
#include "sim/world.hpp"

#include <chrono>
#include <cstdint>

namespace conch::sim::test {

struct deaf final : client_events {
    void ended(std::uint64_t, call&) override {}
    void turned(std::uint64_t) override {}
};

/// A client whose clock is off by so many millionths, and a server for it alone.
struct lone_client {
    explicit lone_client(std::int64_t ppm = 0)
        : node{w, net, nobody, {}, {.drift_ppm = ppm, .ahead = std::chrono::hours{1}}, "c", 1} {
        server.use(net);
    }
    void run_until(instant t) {
        while (w.step(t)) {
        }
    }

    world w{1};
    server_node server{w, {}};
    network net{w, server, {}};
    deaf nobody{};
    client_node node;
};

}  // namespace conch::sim::test

#endif
