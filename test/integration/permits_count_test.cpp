// SPDX-License-Identifier: BSL-1.0
// Permits with leases, whose count gets a time to live, loses it, is deleted, or is changed by a
// call whose answer is lost.
#include "integration/permits_fixture.hpp"
#include "support/proxy.hpp"

#include <string>

namespace {

using namespace conch;
using namespace conch::test;

TEST_F(permits_test, end_with_a_semaphore_that_has_a_time_to_live) {
    raw.must({"SET", "permits", "3", "PX", "60000"});
    run([&]() -> asio::awaitable<void> {
        hold h = co_await s1.async_acquire(2);
        EXPECT_GT(raw.pttl(out), 50'000);
        EXPECT_LE(raw.pttl(out), 60'000);
        co_await s1.async_set_permits(5);
        EXPECT_GT(raw.pttl("permits"), 50'000);
    });
}

TEST_F(permits_test, whose_count_was_deleted_are_as_many_as_somebody_sets_anew) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(5);
        hold a = co_await s1.async_acquire(2);
        hold b = co_await s1.async_acquire();
        raw.must({"DEL", "permits"});
        co_await a.async_unlock();
        EXPECT_FALSE(raw.exists("permits"));
        const bool was_gone = co_await s2.async_try_set_permits(5);
        EXPECT_TRUE(was_gone);
        co_await b.async_unlock();
        EXPECT_EQ(left(), 5);
    });
}

TEST_F(permits_test, do_not_end_with_a_time_to_live_that_is_no_more) {
    run([&]() -> asio::awaitable<void> {
        co_await s1.async_set_permits(5);
        raw.must({"PEXPIRE", "permits", "60000"});
        hold a = co_await s1.async_acquire(2);
        EXPECT_LE(raw.pttl(out), 60'000);
        raw.must({"PERSIST", "permits"});
        hold b = co_await s1.async_acquire();
        EXPECT_GT(raw.pttl(out), 1'000'000'000'000) << "for ever, more or less";
    });
}

/// Behind a wire that loses what it carries; one of six is out.
class lost_leased : public redis_test {
protected:
    void SetUp() override {
        run([&]() -> asio::awaitable<void> {
            co_await far.async_set_permits(6);
            out = co_await far.async_acquire({.lease = 10min});
            co_await far.async_add_permits(-1);
            co_await far.async_add_permits(1);
        });
    }
    std::string left() { return raw.get("leased").value_or("none"); }
    /// Makes a change of which `after` are left, whose answer is lost: what another does
    /// meanwhile stays.
    template <typename Change>
    asio::awaitable<void> lose_answer(Change change, int after) {
        bool done = false;
        wire.swallow_replies();
        change([&done](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            done = true;
        });
        const bool ran = co_await when([&] { return left() == std::to_string(after); });
        EXPECT_TRUE(ran) << left();
        raw.must({"INCRBY", "leased", "100"});
        wire.cut();
        const bool answered = co_await when([&] { return done; });
        EXPECT_TRUE(answered);
        EXPECT_EQ(left(), std::to_string(after + 100)) << "it was done again";
        raw.must({"DECRBY", "leased", "100"});
    }
    /// One that is lost on its way.
    template <typename Change>
    asio::awaitable<void> lose(Change change, int after) {
        bool done = false;
        const auto before = through.stats().script_calls;
        wire.swallow_requests();
        change([&done](error_code ec) {
            EXPECT_FALSE(ec) << ec.message();
            done = true;
        });
        const bool written = co_await when([&] { return through.stats().script_calls > before; });
        EXPECT_TRUE(written);
        wire.cut();
        const bool answered = co_await when([&] { return done; });
        EXPECT_TRUE(answered);
        EXPECT_EQ(left(), std::to_string(after));
    }

    proxy wire{server.socket_path()};
    client through{io, settings_for(wire.socket_path())};
    const semaphore far{through, "leased"};
    hold out{};
};

TEST_F(lost_leased, each_change_of_their_number_whose_answer_is_lost_is_done_once) {
    run([&]() -> asio::awaitable<void> {
        co_await lose_answer([&](auto done) { far.async_add_permits(3, done); }, 8);
        co_await lose_answer([&](auto done) { far.async_add_permits(-2, done); }, 6);
        co_await lose_answer([&](auto done) { far.async_set_permits(4, done); }, 3);
        const std::int64_t all = co_await far.async_total();
        EXPECT_EQ(all, 4) << "the one that is out is of them";
    });
}

TEST_F(lost_leased, each_change_of_their_number_that_was_lost_on_its_way_is_done_once) {
    run([&]() -> asio::awaitable<void> {
        co_await lose([&](auto done) { far.async_add_permits(3, done); }, 8);
        co_await lose([&](auto done) { far.async_add_permits(-2, done); }, 6);
        co_await lose([&](auto done) { far.async_set_permits(4, done); }, 3);
        const std::int64_t all = co_await far.async_total();
        EXPECT_EQ(all, 4) << "the one that is out is of them";
    });
}

}  // namespace
