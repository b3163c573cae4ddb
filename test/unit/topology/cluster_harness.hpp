// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_TOPOLOGY_CLUSTER_HARNESS_HPP
#define CONCH_TEST_UNIT_TOPOLOGY_CLUSTER_HARNESS_HPP

#include "unit/topology/harness.hpp"
#include "wire/hash_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace conch::test {

/// What a node is asked, first and from time to time.
inline const lines first_questions{"PUBSUB SHARDNUMSUB 0", "CLUSTER SLOTS"};
inline const lines next_question{"CLUSTER SLOTS"};

inline config cluster_settings(std::size_t seeds) {
    config c;
    c.ping_interval = 1h;
    c.cluster.emplace();
    for (std::size_t i = 1; i <= seeds; ++i) {
        c.cluster->addresses.push_back({"n" + std::to_string(i), 7000});
    }
    return c;
}

inline std::string part_of(int first, int last, std::string_view host, int port = 7000) {
    return array(integer(first), integer(last), array(bulk(host), integer(port), bulk("id")));
}

/// A client of a cluster.
struct topology_cluster : topology_harness {
    explicit topology_cluster(config c = cluster_settings(2)) : topology_harness{std::move(c)} {}

    void submit(note& n, int slot) { servers.submit(n, static_cast<std::uint16_t>(slot)); }
    std::string serving(int slot) {
        return servers.serving(static_cast<std::uint16_t>(slot)).target().text();
    }
    /// The place of the link that leads there.
    std::size_t place_of(std::string_view address) {
        for (std::size_t i = 0; i < servers.count(); ++i) {
            if (i != asked && target(i) == address) {
                return i;
            }
        }
        ADD_FAILURE() << "no link to " << address;
        return main_link;
    }
    /// The node that is asked accepts; what it is asked then.
    lines meet_node() {
        EXPECT_TRUE(wanted(asked));
        servers.connection(asked).connected();
        EXPECT_EQ(sent(asked), lines{"HELLO 3 SETNAME conch"});
        reply(asked, hello(1));
        return sent(asked);
    }
    void tell(const std::string& parts) { reply(asked, parts); }
    /// Three masters, each with about a third.
    void learn_three() {
        meet_node();
        tell(integer(0) + thirds("m1", "m2", "m3"));
    }
    /// The call `a`, for a part of the first, is sent on to this address for this once, where
    /// nobody had asked before: the place of the link.
    std::size_t sent_on_to_new(const std::string& to) {
        submit(a, 7);
        learn_three();
        meet(main_link);
        sent(main_link);
        reply(main_link, error("ASK 7 " + to));
        const std::size_t there = place_of(to);
        meet(there);
        EXPECT_EQ(sent(there), lines{});
        return there;
    }
    /// It asks again, and goes there.
    std::size_t sent_on(const std::string& to) {
        const std::size_t there = sent_on_to_new(to);
        advance(100ms);
        EXPECT_EQ(sent(main_link), lines{"a"});
        reply(main_link, error("ASK 7 " + to));
        EXPECT_EQ(sent(there), (lines{"ASKING", "a"}));
        return there;
    }
    static std::string thirds(std::string_view one, std::string_view two, std::string_view three) {
        return array(part_of(0, 5460, one), part_of(5461, 10922, two),
                     part_of(10923, 16383, three));
    }

    note b{plain_note, "b"};
};

}  // namespace conch::test

#endif
