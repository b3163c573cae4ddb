// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_TOPOLOGY_SENTINEL_HARNESS_HPP
#define CONCH_TEST_UNIT_TOPOLOGY_SENTINEL_HARNESS_HPP

#include "unit/topology/harness.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace conch::test {

inline const lines question{"SUBSCRIBE +switch-master", "SENTINEL MASTER m",
                            "SENTINEL GET-MASTER-ADDR-BY-NAME m"};
inline const lines asked_again{question[1], question[2]};

inline config settings_with(std::size_t sentinels) {
    config c;
    c.ping_interval = 1h;
    c.username = "u";
    c.password = "p";
    c.database = 2;
    c.sentinel.emplace();
    c.sentinel->master = "m";
    c.sentinel->password = "of sentinels";
    for (std::size_t i = 1; i <= sentinels; ++i) {
        c.sentinel->addresses.push_back({"s" + std::to_string(i), 26379});
    }
    return c;
}

inline std::string subscribed_to(std::string_view channel) {
    return push("subscribe", channel, integer(1));
}
inline std::string message(std::string_view channel, std::string_view text) {
    return push("message", channel, bulk(text));
}
/// What a sentinel answers that doesn't know the master.
inline std::string knows_none() { return error("ERR No such master with that name") + "_\r\n"; }
inline std::string at(std::string_view host, std::string_view port = "6379") {
    return array(bulk(host), bulk(port));
}
inline std::string as_of(int epoch) {
    return array(bulk("name"), bulk("m"), bulk("config-epoch"), bulk(std::to_string(epoch)));
}
/// What a sentinel answers: the master, as of this configuration.
inline std::string names(std::string_view host, int epoch = 1) { return as_of(epoch) + at(host); }
/// The same of one that doesn't tell how new its configuration is.
inline std::string just_names(std::string_view host) {
    return error("NOPERM no MASTER") + at(host);
}

/// A client that asks sentinels.
struct topology_sentinel : topology_harness {
    explicit topology_sentinel(config c = settings_with(2)) : topology_harness{std::move(c)} {}

    wire::link& durable() { return servers.serving(0, true); }
    void submit(note& n) { servers.main().submit(n); }
    void submit_durable(note& n) { durable().submit(n); }

    /// The sentinel that is asked accepts; what it is asked then.
    lines meet_sentinel() {
        EXPECT_TRUE(wanted(asked));
        servers.connection(asked).connected();
        EXPECT_EQ(sent(asked), lines{"HELLO 3 AUTH default of sentinels SETNAME conch"});
        reply(asked, hello(1));
        return sent(asked);
    }
    void find_master(std::string_view host, int epoch = 1) {
        EXPECT_EQ(meet_sentinel(), question);
        reply(asked, subscribed_to("+switch-master") + names(host, epoch));
    }
    /// The same of one that doesn't tell how new that is: it is asked on and on.
    void just_find_master(std::string_view host) {
        EXPECT_EQ(meet_sentinel(), question);
        reply(asked, subscribed_to("+switch-master") + just_names(host));
    }
    lines meet_master(std::string_view role = "master", std::string_view run = "1111",
                      std::size_t link = main_link) {
        return meet(link, role, run);
    }
};

}  // namespace conch::test

#endif
