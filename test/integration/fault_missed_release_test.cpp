// SPDX-License-Identifier: BSL-1.0
// One release, its message lost or late on a damaged wire, and nobody else who would make another.
#include "integration/fault_fixture.hpp"

namespace {

using namespace conch;
using namespace conch::test;

struct damage {
    std::string label;
    void (*begin)(proxy&);
    void (*end)(proxy&);
};

void PrintTo(const damage& d, std::ostream* out) { *out << d.label; }

void heal(proxy& p) { p.heal(); }
void cut(proxy& p) { p.cut(); }

const damage each_damage[] = {
    {"cut",
     [](proxy& p) {
         p.refuse();
         p.cut();
     },
     heal},
    {"reset",
     [](proxy& p) {
         p.refuse();
         p.reset();
     },
     heal},
    {"half_open_without_the_server", [](proxy& p) { p.cut_servers_only(); }, heal},
    {"half_open_without_the_client",
     [](proxy& p) {
         p.refuse();
         p.cut_clients_only();
     },
     heal},
    {"swallowed", [](proxy& p) { p.swallow_replies(); }, cut},
    {"truncated", [](proxy& p) { p.truncate_replies(10); }, heal},
    {"garbage_before_it",
     [](proxy& p) {
         p.refuse();
         p.inject("?!\r\n");
     },
     heal},
    {"stalled", [](proxy& p) { p.stall(); }, heal},
    {"delayed", [](proxy& p) { p.delay(100ms); }, [](proxy&) {}},
    {"byte_by_byte", [](proxy& p) { p.dribble(); }, [](proxy&) {}},
    {"out_of_order", [](proxy& p) { p.reorder_pushes(); }, [](proxy&) {}},
};

class fault_missed_release_test : public fault_test,
                                  public ::testing::WithParamInterface<damage> {};

TEST_P(fault_missed_release_test, serves_the_waiter_once_and_long_before_the_lease_ends) {
    config s = through();
    s.ping_interval = 200ms;  // how a silent connection is found out
    client c{io, s};
    take_as_stranger(raw, "lock:0", 60s);
    lock_attempt waiting = start_lock(mutex{c, "lock:0", {.fenced = true}});
    ASSERT_TRUE(run_until(io, [&] { return listening("lock:0"); }));
    GetParam().begin(wire);
    redisson_release(raw, "lock:0");
    step(io, 50, 20ms);
    GetParam().end(wire);
    ASSERT_TRUE(run_until(io, [&] { return waiting.done(); }));
    EXPECT_FALSE(waiting.ec()) << waiting.ec().message();
    EXPECT_EQ(waiting.completions(), 1);
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
    EXPECT_EQ(raw.hlen("lock:0"), 1);
    waiting.value().release();
    expect_nothing_left({&c});
}

INSTANTIATE_TEST_SUITE_P(each_way, fault_missed_release_test, ::testing::ValuesIn(each_damage),
                         [](const auto& which) { return which.param.label; });

}  // namespace
