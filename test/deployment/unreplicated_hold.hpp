// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_UNREPLICATED_HOLD_HPP
#define CONCH_TEST_DEPLOYMENT_UNREPLICATED_HOLD_HPP

#include "support/fenced_resource.hpp"
#include "support/told_in_time.hpp"

#include <conch/conch.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace conch::test {

/// A fenced hold that is lost with its master, as no replica has heard of it; and the resource that
/// it protects, where the next holder comes in. Beside it a brief one, whose lease ends before a
/// replica has taken over.
class unreplicated_hold {
public:
    asio::awaitable<void> take(const client& c, const std::string& name, const std::string& brief) {
        hold = co_await mutex{c, name, {.fenced = true}}.async_lock({.lease = 60s});
        old_ = {name, hold.fence(), hold.valid_until(), 60s};
        EXPECT_TRUE(resource_.enter(old_, clock::now()).accepted);
        brief_ = co_await mutex{c, brief}.async_lock({.lease = 1s});
    }

    /// The loss of both is told in time.
    asio::awaitable<void> is_told() const {
        const auto first = co_await told_in_time(brief_);
        EXPECT_TRUE(first) << "when its lease ends, not when another is the master";
        const auto why = co_await told_in_time(hold);
        EXPECT_EQ(why, std::optional{make_error_code(errc::lost_in_failover)})
            << "at once, not when its lease would end";
        EXPECT_FALSE(hold.owns_lock());
    }

    void enters(const conch::hold& next) {
        EXPECT_GT(next.fence(), old_.fence);
        young_ = {old_.name, next.fence(), next.valid_until(), 60s};
        EXPECT_TRUE(resource_.enter(young_, clock::now()).accepted);
    }
    /// The next holder writes; this one tries to before and after that.
    void only_the_next_writes() {
        EXPECT_FALSE(resource_.write(old_, 1, clock::now()).accepted) << "by its fence";
        EXPECT_TRUE(resource_.write(young_, 1, clock::now()).accepted);
        EXPECT_FALSE(resource_.write(old_, 2, clock::now()).accepted) << "by its fence";
        EXPECT_EQ(resource_.report().written, 1u);
        EXPECT_EQ(resource_.report().stale_accepted, 0u);
        EXPECT_EQ(resource_.report().fences_backwards, 0u);
    }

    conch::hold hold{};

private:
    conch::hold brief_{};
    fenced_resource resource_{};
    claim old_{};
    claim young_{};
};

}  // namespace conch::test

#endif
