// SPDX-License-Identifier: BSL-1.0
// What a failover by sentinels loses, as the replicas did not have it.
#include "support/fenced_resource.hpp"
#include "support/told_in_time.hpp"
#include "deployment/sentinel_test.hpp"

#include <optional>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

enum class fate {
    killed,
    killed_with_its_sentinel,  ///< the one that is asked
    frozen                     ///< wakes up as an old master
};

/// What becomes of the master.
class sentinel_loss : public sentinel_test, public testing::WithParamInterface<fate> {
protected:
    static bool is_frozen() { return GetParam() == fate::frozen; }
};

INSTANTIATE_TEST_SUITE_P(its_master_is, sentinel_loss,
                         testing::Values(fate::killed, fate::killed_with_its_sentinel,
                                         fate::frozen),
                         [](const auto& fate_of_it) -> std::string {
                             switch (fate_of_it.param) {
                                 case fate::killed: return "killed";
                                 case fate::killed_with_its_sentinel:
                                     return "killed_with_its_sentinel";
                                 case fate::frozen: return "frozen";
                             }
                             return {};
                         });

TEST_P(sentinel_loss, slow_a_hold_that_was_not_replicated_is_lost_and_told) {
    fenced_resource resource;
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m", {.fenced = true}};
        const mutex of_b{b, "m", {.fenced = true}};
        {
            hold warm = co_await of_a.async_lock();
            co_await warm.async_unlock();
        }
        EXPECT_TRUE(group.replicated(0));
        group.server(1).freeze();
        group.server(2).freeze();
        // What is written from now on doesn't even reach their sockets.
        EXPECT_EQ(group.raw(0).must({"CLIENT", "KILL", "TYPE", "replica"}).number, 2);
        hold h = co_await of_a.async_lock({.lease = 60s});
        const claim old{"m", h.fence(), h.valid_until(), 60s};
        EXPECT_TRUE(resource.enter(old, clock::now()).accepted);
        const hold brief = co_await mutex{a, "brief"}.async_lock({.lease = 1s});
        if (GetParam() == fate::killed_with_its_sentinel) {
            group.sentinel(0).kill();
        }
        is_frozen() ? group.server(0).freeze() : group.server(0).kill();
        group.server(1).thaw();
        group.server(2).thaw();

        const auto first = co_await told_in_time(brief);
        EXPECT_TRUE(first) << "when its lease ends, not when another is the master";
        const auto why = co_await told_in_time(h);
        EXPECT_EQ(why, std::optional{make_error_code(errc::lost_in_failover)})
            << "at once, not when its lease would end";
        EXPECT_FALSE(h.owns_lock());

        hold next = co_await of_b.async_lock();
        EXPECT_GT(next.fence(), old.fence);
        const claim young{"m", next.fence(), next.valid_until(), 30s};
        const auto read = resource.enter(young, clock::now());
        EXPECT_TRUE(read.accepted);
        EXPECT_FALSE(resource.write(old, 1, clock::now()).accepted) << "by its fence";
        EXPECT_TRUE(resource.write(young, read.value + 1, clock::now()).accepted);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lost_in_failover);
        if (is_frozen()) {
            group.server(0).thaw();
            hold none = co_await of_a.async_try_lock({.wait = 200ms});
            EXPECT_FALSE(none) << "the old master's word";
            EXPECT_FALSE(h.owns_lock());
            EXPECT_TRUE(next.owns_lock());
            EXPECT_FALSE(resource.write(old, 2, clock::now()).accepted);
        }
        co_await next.async_unlock();
    });
    EXPECT_EQ(resource.report().written, 1u);
    EXPECT_EQ(resource.report().stale_accepted, 0u);
    EXPECT_EQ(resource.report().fences_backwards, 0u);
}

}  // namespace
