// SPDX-License-Identifier: BSL-1.0
// The user of the ACL that conch needs: no right too few, none too many.
#include "integration/acl_fixture.hpp"
#include "support/attempt.hpp"
#include "support/rate_algorithms.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class acl_all_test : public acl_test {
protected:
    config of_database(const std::string& client_name) const {
        config c = settings(client_name);
        c.database = 1;
        c.ping_interval = 20ms;
        c.operation_timeout = 1s;
        return c;
    }

    asio::awaitable<void> use_lock(const mutex& m);
    asio::awaitable<void> contend(const mutex& m, const mutex& other);
    asio::awaitable<void> use_line(const mutex& m, const mutex& other);
    asio::awaitable<void> use_once(client& c);
    asio::awaitable<void> use_rates(client& c);
    asio::awaitable<void> use_semaphore(client& c, client& other);
    asio::awaitable<void> use_deadlocks(client& other);
    asio::awaitable<void> use_all();
};

asio::awaitable<void> acl_all_test::use_lock(const mutex& m) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await m.async_status(as_result);
    co_await h.async_extend(300ms, as_result);
    co_await h.async_downgrade(as_result);
    co_await h.async_unlock(as_result);
    co_await m.async_lock(brief, as_result);
    co_await m.async_force_unlock(as_result);
}

asio::awaitable<void> acl_all_test::contend(const mutex& m, const mutex& other) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await other.async_lock(brief, as_result);
    co_await h.async_unlock(as_result);
}

// Somebody stands in front, and then behind, who is not of conch.
asio::awaitable<void> acl_all_test::use_line(const mutex& m, const mutex& other) {
    const std::string line = "redisson_lock_queue:{fair}";
    const std::string times = "redisson_lock_timeout:{fair}";
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    raw.must({"RPUSH", line, owner_of_redisson});
    raw.must({"ZADD", times, "9000000000000", owner_of_redisson});
    lock_attempt waiting = start_lock(other, brief);
    co_await when([&] { return waiting.done() || raw.must({"LLEN", line}).number == 2; }, 2s);
    raw.must({"LREM", line, "0", owner_of_redisson});
    raw.must({"RPUSH", line, owner_of_redisson});
    raw.must({"ZADD", times, "9000000000000", owner_of_redisson});
    co_await h.async_unlock(as_result);
    co_await when([&] { return waiting.done(); }, 2s);
    raw.must({"DEL", line, times});
}

asio::awaitable<void> acl_all_test::use_once(client& c) {
    const once job{c, "once", {.period = 1h}};
    const auto body = []() -> asio::awaitable<void> { co_return; };
    for (int i = 0; i < 2; ++i) {
        co_await job.async_run(brief, body, as_result);
    }
}

asio::awaitable<void> acl_all_test::use_rates(client& c) {
    for (const rate_algorithm kind : rate_algorithms) {
        const std::string name = "rate:" + std::to_string(static_cast<int>(kind));
        const rate_limiter calls{c, name, {5, 1h}, kind};
        for (int i = 0; i < 2; ++i) {
            co_await calls.async_try_acquire(as_result);
        }
    }
    // A log that nobody has looked into for longer than its window.
    raw.must({"ZADD", "rate:old", "1000000000000", "1000000000000:1", "1", ""});
    const rate_limiter old{c, "rate:old", {5, 1h}, rate_algorithm::sliding_log};
    co_await old.async_try_acquire(as_result);
}

asio::awaitable<void> acl_all_test::use_semaphore(client& c, client& other) {
    const counting_semaphore s{c, "permits"};
    co_await s.async_try_set(1, as_result);
    co_await s.async_acquire({.wait = 50ms}, as_result);
    co_await counting_semaphore{other, "permits"}.async_acquire({.wait = 50ms}, as_result);
    co_await s.async_release(as_result);
    co_await semaphore{c, "leased"}.async_set_permits(1, as_result);
    co_await semaphore{c, "leased"}.async_acquire(brief, as_result);
    co_await semaphore{c, "leased"}.async_available(as_result);
    co_await latch{c, "latch"}.async_try_set_count(1, as_result);
    co_await latch{c, "latch"}.async_wait({.wait = 50ms}, as_result);
}

// An owner waits for what another one has, and tells it.
asio::awaitable<void> acl_all_test::use_deadlocks(client& other) {
    config looking = of_database("looking");
    looking.deadlock_detection = true;
    looking.max_poll_interval = 20ms;
    client c{io, looking};
    const owner job{};
    auto [ec, wanted] = co_await mutex{other, "wanted"}.async_lock(brief, as_result);
    auto [ec_of_own, own] = co_await mutex{c, "own"}.async_lock({.owner = &job}, as_result);
    co_await mutex{c, "wanted"}.async_lock({.wait = 100ms, .owner = &job}, as_result);
    co_await c.async_shutdown();
}

// Each command that conch may send, and each that its scripts may call.
asio::awaitable<void> acl_all_test::use_all() {
    raw.must({"SELECT", "1"});
    client c{io, of_database("conch")};
    client other{io, of_database("other")};
    const mutex lock{c, "lock", {.fenced = true}};
    const token_mutex plain{c, "plain"};
    co_await use_lock(lock);
    co_await use_lock(plain);
    const shared_mutex shared{c, "shared"};
    co_await use_lock(shared.reader());
    co_await use_lock(shared.writer());
    co_await contend(shared.writer(), shared_mutex{other, "shared"}.reader());
    const fair_mutex fair{c, "fair"};
    co_await use_lock(fair);
    const fair_mutex fair_of_other{other, "fair"};
    co_await contend(fair, fair_of_other);
    co_await use_line(fair, fair_of_other);
    co_await contend(lock, mutex{other, "lock", {.fenced = true}});
    co_await mutex{c, "asks", {.replicas = {.at_least = 1, .within = 1ms}}}.async_lock(brief,
                                                                                       as_result);
    co_await contend(plain, token_mutex{other, "plain"});
    co_await use_once(c);
    co_await use_rates(c);
    co_await use_semaphore(c, other);
    co_await use_deadlocks(other);
    const std::uint64_t before = c.stats().connects;
    if (raw.kill_connections("conch") > 0) {
        co_await mutex{c, "lock"}.async_status(as_result);
        co_await when([&] { return c.stats().connects > before; }, 2s);
    }
    raw.reset_calls();
    co_await when([&] { return raw.calls("ping") > 0 || !raw.refused().empty(); }, 2s);
    co_await c.async_shutdown();
    co_await other.async_shutdown();
    raw.must({"FLUSHALL"});
}

TEST(acl_readme_test, the_readme_names_the_rights_of_the_user_that_all_tests_run_as) {
    rights_list written = rights_of_page("at the server");
    if (server_is_before(6, 2)) {
        std::erase_if(written, is_of_channels);
    }
    EXPECT_EQ(written, sorted(conch_rights()));
    EXPECT_EQ(rights_of_page("for `conch status` to tell host and process of the holder, and how "
                             "many clients wait"),
              sorted(status_rights()));
}

TEST(acl_readme_test, the_readme_names_the_rights_where_there_are_several_servers) {
    EXPECT_EQ(rights_of_page("with Sentinel, at each sentinel"), sorted(rights_at_sentinels()));
    rights_list all = rights_of_page("in a cluster also, at each node");
    if (server_has_shard_messages()) {
        const rights_list more = rights_of_page(
            "in a cluster of Redis 7.0 or newer also, for messages within a shard");
        all.insert(all.end(), more.begin(), more.end());
    }
    EXPECT_EQ(sorted(all), sorted(cluster_rights()));
}

TEST_F(acl_all_test, with_all_of_its_rights_nothing_is_refused) {
    give(rights);
    run([&]() -> asio::awaitable<void> { co_await use_all(); });
    EXPECT_EQ(raw.refused(), std::vector<std::string>{});
}

TEST_F(acl_all_test, each_right_is_needed) {
    ASSERT_GT(rights.size(), 30u);
    for (std::size_t i = 0; i < rights.size(); ++i) {
        if (rights[i] == "resetchannels") {
            continue;  // the one that takes rights away
        }
        rights_list fewer = rights;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        give(fewer);
        run([&]() -> asio::awaitable<void> { co_await use_all(); }, 60s);
        EXPECT_NE(raw.refused(), std::vector<std::string>{}) << "without " << rights[i];
    }
}

TEST_F(acl_test, keys_may_be_narrowed_down_to_the_names_that_are_used) {
    rights.front() = "~orders:*";
    rights.push_back("~redisson_lock_token:{orders:*");
    give(rights);
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex own{c, "orders:1", {.fenced = true}};
        hold h = co_await own.async_lock();
        EXPECT_GT(h.fence(), 0u);
        co_await h.async_unlock();
        const mutex foreign{c, "customers:1"};
        const auto [ec, none] = co_await foreign.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::permission_denied);
    });
}

// A status tells the fence, too, where it may be read.
TEST_F(acl_test, without_the_key_of_the_fence_the_rest_of_the_status_is_told) {
    rights.front() = "~orders:*";
    give(rights);
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await mutex{c, "orders:1"}.async_lock();
        const mutex fenced{c, "orders:1", {.fenced = true}};
        const lock_status s = co_await fenced.async_status();
        EXPECT_TRUE(s.locked);
        EXPECT_EQ(s.fence, 0u);
        const auto [ec, none] =
            co_await mutex{c, "customers:1", {.fenced = true}}.async_status(as_result);
        EXPECT_EQ(ec, errc::permission_denied);
    });
}

}  // namespace
