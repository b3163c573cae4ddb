// SPDX-License-Identifier: BSL-1.0
// A lease that is renewed only while its holder reports progress, on a real server.
#include "integration/quorum_fixture.hpp"
#include "support/redis_test.hpp"
#include "support/told_in_time.hpp"

#include <optional>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class progress_test : public redis_test {
protected:
    client c{io, settings()};
    client other{io, settings()};
};

TEST_F(progress_test, a_holder_that_reports_keeps_its_lock_past_its_lease) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "kept"};
        const hold h = co_await m.async_lock({.lease = 6s, .progress_within = 1s});
        const time_point began = clock::now();
        while (clock::now() - began < 7s) {
            h.progress();
            co_await pass(50ms);
        }
        EXPECT_FALSE(h.lost_reason()) << h.lost_reason().message();
        EXPECT_TRUE(raw.exists("kept"));
    });
}

TEST_F(progress_test, a_holder_that_is_stuck_loses_it_to_another_in_time) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "stuck"};
        const mutex of_other{other, "stuck"};
        const time_point began = clock::now();
        hold h = co_await m.async_lock({.lease = 6s, .progress_within = 1s});
        EXPECT_TRUE(h.owns_lock());
        hold next = co_await of_other.async_lock();
        const duration took = clock::now() - began;
        EXPECT_GE(took, 1s);
        EXPECT_LE(took, 7s + 3s) << "a machine may stand still for a moment";
        EXPECT_EQ(h.lost_reason(), errc::no_progress);
        EXPECT_EQ(c.stats().lost_no_progress, 1u);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::no_progress);
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_F(progress_test, a_body_that_is_stuck_is_cancelled_and_a_body_that_reports_is_not) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "body"};
        const lock_options o{.lease = 6s, .progress_within = 1s};
        auto busy = [&](hold& h) -> asio::awaitable<void> {
            const time_point renewed = h.valid_until() + 1s;
            while (h.valid_until() < renewed) {
                h.progress();
                co_await pass(20ms);
            }
        };
        co_await with_lock(m, o, busy);
        auto stuck = []() -> asio::awaitable<void> { co_await pass(60s); };
        std::string why;
        try {
            co_await with_lock(m, o, stuck);
        } catch (const system_error& e) {
            EXPECT_EQ(e.code(), errc::lock_lost);
            why = e.what();
        }
        EXPECT_NE(why.find("reported no progress"), std::string::npos) << why;
    });
}

TEST_F(progress_test, a_fair_lock_of_one_that_is_stuck_goes_to_the_next_in_line) {
    run([&]() -> asio::awaitable<void> {
        const fair_mutex m{c, "line"};
        const fair_mutex of_other{other, "line"};
        hold h = co_await m.async_lock({.lease = 3s, .progress_within = 500ms});
        const hold next = co_await of_other.async_lock();
        EXPECT_TRUE(next.owns_lock());
        EXPECT_EQ(h.lost_reason(), errc::no_progress);
        EXPECT_EQ(c.stats().lost_no_progress, 1u);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::no_progress);
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_F(progress_test, a_body_that_is_stuck_gives_its_permit_back) {
    raw.must({"SET", "permits", "1"});
    run([&]() -> asio::awaitable<void> {
        const mutex permit = semaphore{c, "permits"}.permits(1);
        const lock_options o{.lease = 3s, .progress_within = 500ms};
        auto stuck = []() -> asio::awaitable<void> { co_await pass(60s); };
        std::string why;
        try {
            co_await with_lock(permit, o, stuck);
        } catch (const system_error& e) {
            EXPECT_EQ(e.code(), errc::lock_lost);
            why = e.what();
        }
        EXPECT_NE(why.find("reported no progress"), std::string::npos) << why;
        EXPECT_EQ(raw.get("permits"), "1");
    });
}

TEST_F(progress_test, what_holds_nothing_any_more_may_report) {
    const hold empty;
    empty.progress();
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "a"};
        hold h = co_await m.async_lock();
        h.progress();
        co_await h.async_unlock();
        h.progress();
        EXPECT_FALSE(raw.exists("a"));
    });
}

class quorum_progress_test : public quorum_test {
protected:
    quorum_progress_test() : quorum_test{3} {}
};

TEST_F(quorum_progress_test, a_majority_is_kept_by_progress_and_lost_without_it) {
    const contender a{io, servers};
    run([&]() -> asio::awaitable<void> {
        const quorum_mutex m = a.lock("q");
        const hold h = co_await m.async_lock({.lease = 6s, .progress_within = 1s});
        const time_point renewed = h.valid_until() + 1s;
        while (h.valid_until() < renewed && !h.lost_reason()) {
            h.progress();
            co_await pass(20ms);
        }
        EXPECT_TRUE(h.owns_lock()) << h.lost_reason().message();
        const std::optional<error_code> told = co_await told_in_time(h);
        EXPECT_EQ(told, errc::no_progress);
    });
}

}  // namespace
