// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_GROUP_SETTINGS_HPP
#define CONCH_TEST_DEPLOYMENT_GROUP_SETTINGS_HPP

#include "support/rights.hpp"

#include <conch/config.hpp>

#include <chrono>
#include <string>

namespace conch::test {

/// How long a group of servers may take to begin.
inline constexpr std::chrono::seconds start_limit{60};

/// Of a client with conch's user that notices soon that a server is gone, and waits until another
/// has taken its place, however busy the machine is.
inline config group_settings(config c, const std::string& client_name) {
    c.username = conch_user;
    c.password = conch_password;
    c.client_name = client_name;
    c.connect_timeout = std::chrono::seconds{2};
    c.response_timeout = std::chrono::seconds{1};
    c.operation_timeout = std::chrono::minutes{2};
    c.reconnect_delay_min = std::chrono::milliseconds{2};
    c.reconnect_delay_max = std::chrono::milliseconds{100};
    return c;
}

}  // namespace conch::test

#endif
