// SPDX-License-Identifier: BSL-1.0
// What a failover by sentinels loses, as the replicas did not have it.
#include "deployment/sentinel_test.hpp"
#include "deployment/unreplicated_hold.hpp"
#include "support/told_in_time.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    /// What is written to the master from now on does not even reach the replicas' sockets.
    void cut_off_the_replicas() {
        EXPECT_TRUE(group.replicated(0));
        group.server(1).freeze();
        group.server(2).freeze();
        EXPECT_EQ(group.raw(0).must({"CLIENT", "KILL", "TYPE", "replica"}).number, 2);
    }
    /// The master is gone, and the replicas are back.
    void lose_the_master() {
        if (GetParam() == fate::killed_with_its_sentinel) {
            group.sentinel(0).kill();
        }
        is_frozen() ? group.server(0).freeze() : group.server(0).kill();
        group.server(1).thaw();
        group.server(2).thaw();
    }
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
    unreplicated_hold lost;
    run([&]() -> asio::awaitable<void> {
        const mutex of_a{a, "m", {.fenced = true}};
        {
            hold warm = co_await of_a.async_lock();
            co_await warm.async_unlock();
        }
        cut_off_the_replicas();
        co_await lost.take(a, "m", "brief");
        lose_the_master();

        co_await lost.is_told();
        hold next = co_await mutex{b, "m", {.fenced = true}}.async_lock();
        lost.enters(next);
        const auto [verdict] = co_await lost.hold.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lost_in_failover);
        if (is_frozen()) {
            group.server(0).thaw();
            hold none = co_await of_a.async_try_lock({.wait = 200ms});
            EXPECT_FALSE(none) << "the old master's word";
            EXPECT_FALSE(lost.hold.owns_lock());
            EXPECT_TRUE(next.owns_lock());
        }
        lost.only_the_next_writes();
        co_await next.async_unlock();
    });
}

/// A lock of each other kind.
std::vector<mutex> other_kinds(const client& of) {
    const shared_mutex rw{of, "rw"};
    const semaphore permits{of, "permits"};
    return {fair_mutex{of, "fair"}, rw.reader(), shared_mutex{of, "written"}.writer(),
            permits.permits(2), token_mutex{of, "plain"}};
}

TEST_P(sentinel_loss, slow_holds_of_other_kinds_that_were_not_replicated_are_lost_and_told) {
    run([&]() -> asio::awaitable<void> {
        const std::vector<mutex> of_a = other_kinds(a);
        const std::vector<mutex> of_b = other_kinds(b);
        co_await semaphore{a, "permits"}.async_set_permits(2);
        cut_off_the_replicas();
        std::vector<hold> lost;
        for (const mutex& each : of_a) {
            hold h = co_await each.async_lock({.lease = 60s});
            lost.push_back(std::move(h));
        }
        lose_the_master();

        for (std::size_t i = 0; i < lost.size(); ++i) {
            const std::string name{of_a[i].name()};
            const auto why = co_await told_in_time(lost[i]);
            EXPECT_EQ(why, std::optional{make_error_code(errc::lost_in_failover)})
                << name << ": at once, not when its lease would end";
            EXPECT_FALSE(lost[i].owns_lock()) << name;
            // Beside a reader another one comes in; a writer does not.
            const mutex wanted = name == "rw" ? shared_mutex{b, "rw"}.writer() : of_b[i];
            hold next = co_await wanted.async_lock({.wait = 30s});
            EXPECT_TRUE(next.owns_lock()) << name;
            const auto [verdict] = co_await lost[i].async_unlock(as_result);
            EXPECT_EQ(verdict, errc::lost_in_failover) << name;
            EXPECT_TRUE(next.owns_lock()) << name;
            co_await next.async_unlock();
        }
    });
    EXPECT_EQ(a.stats().holds_now, 0u);
}

}  // namespace
