// SPDX-License-Identifier: BSL-1.0
// A writer that becomes a reader, on a real server and beside other processes.
#include "support/attempt.hpp"
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <conch/conch.hpp>

#include <boost/asio/use_future.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

constexpr lock_options of_minutes{.wait = 60s, .lease = 300s};

class downgrade_test : public redis_test {
protected:
    static inline const std::string channel = "redisson_rwlock:{lock}";

    /// Another process, which does this with the lock.
    template <typename Body>
    child_process process(Body body) const {
        return child_process{[this, body](const child_process::report& report) {
            asio::io_context own;
            client redis{own, push_only("other")};
            run_test(own, body(shared_mutex{redis, "lock"}, report), 60s);
            return 0;
        }};
    }
    /// So many listen for releases of the lock.
    asio::awaitable<bool> listened(int clients = 1) {
        return when([this, clients] { return raw.subscribers(channel) == clients; });
    }
};

TEST_F(downgrade_test, is_kept_as_redisson_keeps_a_reader) {
    client one{io, settings()};
    const shared_mutex m{one, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock({.lease = 20s});
        co_await h.async_downgrade();
        const std::string field = one.id() + ":1";
        EXPECT_EQ(raw.hgetall("lock"),
                  (std::map<std::string, std::string>{{"mode", "read"}, {field, "1"}}));
        const std::string timeout = "{lock}:" + field + ":rwlock_timeout:1";
        EXPECT_EQ(raw.get(timeout), "1");
        for (const std::string& key : {std::string{"lock"}, timeout}) {
            EXPECT_GT(raw.pttl(key), 10'000) << key;
            EXPECT_LE(raw.pttl(key), 20'000) << key;
        }
        const lock_status now = co_await m.async_status();
        EXPECT_TRUE(now.shared);
        EXPECT_EQ(now.depth, 1U);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_extend(60s);
        EXPECT_GT(raw.pttl(timeout), 50'000);
        co_await h.async_unlock();
        EXPECT_EQ(raw.must({"DBSIZE"}).number, 0);
    });
}

TEST_F(downgrade_test, a_reader_of_another_process_is_woken_by_a_message_and_a_writer_is_not) {
    const auto wait_for = [](bool reads) {
        return [reads](const shared_mutex& m,
                       const child_process::report& report) -> asio::awaitable<void> {
            const mutex& side = reads ? m.reader() : m.writer();
            hold h = co_await side.async_lock(of_minutes);
            report('h');
            co_await h.async_unlock();
        };
    };
    client one{io, push_only("one")};
    const shared_mutex m{one, "lock"};
    hold h;
    run([&]() -> asio::awaitable<void> { h = co_await m.async_lock(of_minutes); });
    child_process reads = process(wait_for(true));
    run([&]() -> asio::awaitable<void> {
        const bool waits = co_await listened();
        EXPECT_TRUE(waits);
        co_await h.async_downgrade();
    });
    EXPECT_TRUE(reads.reported('h'));
    EXPECT_EQ(reads.join(), 0);
    child_process writes = process(wait_for(false));
    run([&]() -> asio::awaitable<void> {
        const bool waits = co_await listened();
        EXPECT_TRUE(waits);
        const hold late = co_await m.async_try_lock_shared({.lease = 20s});
        EXPECT_FALSE(late) << "the writer came first";
        EXPECT_EQ(raw.hgetall("lock").at("mode"), "read");
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
    });
    EXPECT_TRUE(writes.reported('h'));
    EXPECT_EQ(writes.join(), 0);
}

TEST_F(downgrade_test, a_waiting_writer_stays_in_front_of_readers) {
    client one{io, settings("one")};
    client two{io, settings("two")};
    client three{io, settings("three")};
    const shared_mutex m{one, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock(of_minutes);
        lock_attempt writer = start_lock(shared_mutex{two, "lock"}.writer(), of_minutes);
        const bool waits = co_await listened();
        EXPECT_TRUE(waits);
        co_await h.async_downgrade();
        const hold late = co_await shared_mutex{three, "lock"}.async_try_lock_shared();
        EXPECT_FALSE(late);
        EXPECT_FALSE(writer.done());
        co_await h.async_unlock();
        const bool woken = co_await when([&] { return writer.done(); });
        EXPECT_TRUE(woken);
        co_await writer.value().async_unlock();
    });
}

TEST_F(downgrade_test, what_a_killed_process_had_ends_with_its_lease) {
    child_process doomed = process(
        [](const shared_mutex& m, const child_process::report& report) -> asio::awaitable<void> {
            hold h = co_await m.async_lock({.lease = 1s});
            co_await h.async_downgrade();
            report('r');
            co_await h.async_wait_lost();
        });
    ASSERT_TRUE(doomed.reported('r'));
    client one{io, settings("one")};
    const shared_mutex m{one, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold none = co_await m.async_try_lock({.wait = 2s});
        EXPECT_FALSE(none) << "it is renewed, as a reader";
        hold reads = co_await m.async_try_lock_shared({.wait = 10s});
        EXPECT_TRUE(reads) << "a writer that gave up has readers wait for a while";
        co_await reads.async_unlock();
        doomed.kill();
        const hold w = co_await m.async_lock({.wait = 20s});
        EXPECT_TRUE(w.owns_lock());
    });
}

TEST_F(downgrade_test, readers_of_its_client_and_others_come_in_and_a_writer_does_not) {
    client one{io, push_only("one")};
    client two{io, push_only("two")};
    const shared_mutex m1{one, "lock"};
    const shared_mutex m2{two, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m1.async_lock(of_minutes);
        lock_attempt here = start_lock(m1.reader(), of_minutes);
        lock_attempt there = start_lock(m2.reader(), of_minutes);
        const bool wait = co_await listened(2);
        EXPECT_TRUE(wait);
        co_await h.async_downgrade();
        const bool both = co_await when([&] { return here.done() && there.done(); });
        EXPECT_TRUE(both);
        const hold none = co_await m2.async_try_lock();
        EXPECT_FALSE(none);
        co_await h.async_unlock();
        EXPECT_TRUE(here.value().owns_lock());
        co_await here.value().async_unlock();
        co_await there.value().async_unlock();
        EXPECT_FALSE(raw.exists("lock"));
    });
}

TEST_F(downgrade_test, others_are_refused_and_stay_what_they_are) {
    client one{io, settings()};
    const shared_mutex m{one, "shared"};
    run([&]() -> asio::awaitable<void> {
        std::vector<hold> all;
        for (const mutex& other :
             {mutex{one, "a"}, m.reader(), mutex{token_mutex{one, "b"}},
              mutex{fair_mutex{one, "c"}}, mutex{multi_lock{mutex{one, "d"}, mutex{one, "e"}}}}) {
            all.push_back(co_await other.async_lock());
        }
        hold none;
        const auto [empty] = co_await none.async_downgrade(as_result);
        EXPECT_EQ(empty, errc::not_owner);
        for (hold& h : all) {
            const auto [ec] = co_await h.async_downgrade(as_result);
            EXPECT_EQ(ec, errc::not_a_writer);
            EXPECT_TRUE(h.owns_lock());
            co_await h.async_unlock();
        }
    });
}

TEST_F(downgrade_test, one_that_was_taken_away_is_told) {
    client one{io, settings()};
    const shared_mutex m{one, "lock"};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await m.async_lock();
        raw.must({"DEL", "lock"});
        const auto [ec] = co_await h.async_downgrade(as_result);
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_EQ(h.lost_reason(), errc::lock_lost);
        EXPECT_FALSE(raw.exists("lock"));
    });
}

TEST_F(downgrade_test, is_a_callback_a_future_and_a_blocking_call) {
    blocking_client threads{settings("threads")};
    const shared_mutex prices{threads.async(), "lock"};
    blocking_mutex write{threads, prices.writer()};
    blocking_mutex read{threads, prices.reader()};
    hold h = write.acquire();
    h.async_downgrade(asio::use_future).get();
    EXPECT_TRUE(read.try_acquire());
    write.unlock(h);
    h = write.acquire();
    std::promise<error_code> told;
    h.async_downgrade([&](error_code ec) { told.set_value(ec); });
    EXPECT_FALSE(told.get_future().get());
    write.unlock(h);
    h = write.acquire();
    write.downgrade(h);
    EXPECT_FALSE(write.try_acquire());
    write.unlock(h);
    write.lock();
    write.downgrade();
    EXPECT_TRUE(write.owns_lock());
    EXPECT_EQ(raw.hgetall("lock").at("mode"), "read");
    write.unlock();
    EXPECT_FALSE(write.unlock_error());
    EXPECT_FALSE(raw.exists("lock"));
    try {
        write.downgrade();
        ADD_FAILURE() << "the thread doesn't have it";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), boost::system::errc::operation_not_permitted);
    }
}

}  // namespace
