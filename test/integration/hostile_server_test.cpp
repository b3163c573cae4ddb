// SPDX-License-Identifier: BSL-1.0
// A real Redis that refuses: wrong data, wrong password, missing rights, no memory, a replica.
#include "support/redis_test.hpp"

#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class hostile_server_test : public redis_test {
protected:
    hostile_server_test() { may_refuse = true; }

    /// Settings for a user with these rights, made for it.
    config user_with(const std::vector<std::string>& rights) {
        raw_client::words line{"ACL", "SETUSER", "limited", "reset", "on", ">right"};
        line.insert(line.end(), rights.begin(), rights.end());
        if (!server_has_shard_messages()) {
            std::erase(line, "-ssubscribe");
        }
        raw.must(line);
        config s = settings();
        s.username = "limited";
        s.password = "right";
        return s;
    }

    /// Settings for the server's default user.
    config with_password(const std::string& password) const {
        config s = settings();
        s.username.clear();
        s.password = password;
        return s;
    }

    /// One lock and one unlock by this client; the key is there in between, and gone after it.
    void lock_and_unlock(client& c, const std::string& name = "held") {
        run([&]() -> asio::awaitable<void> {
            const mutex m{c, name};
            hold h = co_await m.async_lock();
            EXPECT_TRUE(raw.exists(name));
            const auto [ec] = co_await h.async_unlock(as_result);
            EXPECT_FALSE(ec) << ec.message();
            EXPECT_FALSE(raw.exists(name));
        });
    }

    /// What becomes of one lock.
    error_code lock_outcome(client& c, const std::string& name = "refused",
                            const mutex_options& options = {}) {
        error_code out;
        run([&]() -> asio::awaitable<void> {
            const mutex m{c, name, options};
            const auto [ec, h] = co_await m.async_lock({}, as_result);
            out = ec;
            EXPECT_EQ(static_cast<bool>(h), !ec);
        });
        return out;
    }
};

TEST_F(hostile_server_test, a_key_of_another_type_is_an_error_and_stays_as_it_is) {
    client c{io, settings()};
    raw.must({"SET", "text", "precious"});
    EXPECT_EQ(lock_outcome(c, "text"), errc::wrong_type);
    EXPECT_NE(c.last_server_error().find("WRONGTYPE"), std::string::npos);
    EXPECT_EQ(raw.get("text"), "precious");
    EXPECT_EQ(raw.pttl("text"), -1);
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, a_key_of_another_type_is_an_error_for_waiters_too) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "changed"};
        take_as_stranger(raw, "changed");
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            const auto [ec, h] = co_await m.async_lock({}, as_result);
            EXPECT_EQ(ec, errc::wrong_type);
        };
        group.spawn(waiter());
        group.spawn(waiter());
        const bool parked = co_await when([&] { return listening("changed"); });
        EXPECT_TRUE(parked);
        raw.must({"DEL", "changed"});
        raw.must({"SET", "changed", "text"});
        co_await group.join();
        const bool idle = co_await when([&] { return c.stats().slots_now == 0; });
        EXPECT_TRUE(idle);
    });
}

TEST_F(hostile_server_test, a_right_password_is_accepted) {
    raw.must({"CONFIG", "SET", "requirepass", "right"});
    client c{io, with_password("right")};
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, a_wrong_password_is_told_at_once_and_never_repeated) {
    raw.must({"CONFIG", "SET", "requirepass", "right"});
    config s = with_password("s3cret-but-wrong");
    s.operation_timeout = 60s;
    const auto logged = std::make_shared<std::string>();  // a client may outlive the test
    s.least_log_level = log_level::debug;
    s.log = [logged](log_level, std::string_view line) { logged->append(line).append("\n"); };
    client c{io, s};
    const time_point start = clock::now();
    EXPECT_EQ(lock_outcome(c), errc::authentication_failed);
    EXPECT_LT(clock::now() - start, 10s) << "not after the operation's patience";
    EXPECT_NE(c.last_server_error(), "");
    EXPECT_NE(*logged, "");
    const std::string connections = raw.must({"CLIENT", "LIST"}).text;
    for (const std::string& said : {c.last_server_error(), *logged, connections}) {
        EXPECT_EQ(said.find("s3cret"), std::string::npos) << said;
    }
}

TEST_F(hostile_server_test, a_query_with_a_wrong_password_is_told_at_once) {
    raw.must({"CONFIG", "SET", "requirepass", "right"});
    config s = with_password("wrong");
    s.operation_timeout = 60s;
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "asked"};
        const auto [ec, status] = co_await m.async_status(as_result);
        EXPECT_EQ(ec, errc::authentication_failed);
    });
}

TEST_F(hostile_server_test, a_database_out_of_range_is_told_at_once) {
    config s = settings();
    s.database = 99;
    s.operation_timeout = 60s;
    client c{io, s};
    EXPECT_EQ(lock_outcome(c), errc::server_error);
    EXPECT_NE(c.last_server_error().find("out of range"), std::string::npos);
}

TEST_F(hostile_server_test, a_missing_password_is_told) {
    raw.must({"CONFIG", "SET", "requirepass", "right"});
    client c{io, with_password("")};
    EXPECT_EQ(lock_outcome(c), errc::authentication_failed);
}

TEST_F(hostile_server_test, an_unknown_user_is_told) {
    config s = settings();
    s.username = "nobody";
    s.password = "right";
    client c{io, s};
    EXPECT_EQ(lock_outcome(c), errc::authentication_failed);
}

TEST_F(hostile_server_test, a_user_of_the_acl_is_accepted) {
    client c{io, user_with({"~*", "allchannels", "+@all"})};
    lock_and_unlock(c);
}

// How the server withholds pub/sub: by command, or by channel.
class without_subscribe_test : public hostile_server_test,
                               public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(without_subscribe_test, waiters_poll) {
    config s = user_with(GetParam());
    s.max_poll_interval = 50ms;
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "polled"};
        take_as_stranger(raw, "polled");
        task_group group{io.get_executor()};
        bool released = false;
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold h = co_await m.async_lock();
            EXPECT_TRUE(released);
            co_await h.async_unlock();
        };
        group.spawn(waiter());
        group.spawn(waiter());
        const bool polled = co_await when([&] { return c.stats().wakes_by_poll >= 2; });
        EXPECT_TRUE(polled);
        EXPECT_TRUE(raw.channels().empty());
        released = true;
        redisson_release(raw, "polled");
        co_await group.join();
        EXPECT_FALSE(raw.exists("polled"));
    });
    EXPECT_EQ(c.stats().connects, 1u) << "a refused SUBSCRIBE is no reason to reconnect";
}

INSTANTIATE_TEST_SUITE_P(
    each_way, without_subscribe_test,
    ::testing::Values(std::vector<std::string>{"~*", "allchannels", "+@all", "-subscribe",
                                               "-ssubscribe", "-psubscribe"},
                      std::vector<std::string>{"~*", "resetchannels", "+@all"}));

TEST_F(hostile_server_test, without_the_right_to_publish_a_release_still_releases) {
    client c{io, user_with({"~*", "allchannels", "+@all", "-publish"})};
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, without_the_right_to_publish_another_client_gets_the_lock_by_polling) {
    client silent{io, user_with({"~*", "allchannels", "+@all", "-publish"})};
    config s = settings();
    s.max_poll_interval = 50ms;
    client other{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex of_silent{silent, "polled"};
        const mutex of_other{other, "polled"};
        hold h = co_await of_silent.async_lock();
        task_group group{io.get_executor()};
        bool released = false;
        const auto waiter = [&]() -> asio::awaitable<void> {
            const hold next = co_await of_other.async_lock();
            EXPECT_TRUE(released);
            EXPECT_TRUE(next.owns_lock());
        };
        group.spawn(waiter());
        const bool waits = co_await when([&] { return listening("polled"); });
        EXPECT_TRUE(waits);
        released = true;
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        co_await group.join();
    });
    EXPECT_EQ(other.stats().wakes_by_message, 0u) << "nobody could send one";
    EXPECT_GE(other.stats().wakes_by_poll, 1u);
}

TEST_F(hostile_server_test, without_the_right_to_a_channel_a_release_still_releases) {
    client c{io, user_with({"~*", "resetchannels", "+@all"})};
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, without_info_and_client_commands_locks_still_work) {
    client c{io, user_with({"~*", "allchannels", "+@all", "-info", "-client"})};
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, without_the_right_to_run_scripts_permission_is_denied) {
    client c{io, user_with({"~*", "allchannels", "+@all", "-evalsha", "-eval"})};
    EXPECT_EQ(lock_outcome(c), errc::permission_denied);
    EXPECT_NE(c.last_server_error(), "");
}

TEST_F(hostile_server_test, without_the_right_to_the_key_permission_is_denied) {
    client c{io, user_with({"~held*", "allchannels", "+@all"})};
    EXPECT_EQ(lock_outcome(c, "refused"), errc::permission_denied);
    EXPECT_FALSE(raw.exists("refused"));
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, without_the_right_to_the_token_key_nothing_is_taken) {
    client c{io, user_with({"~held*", "allchannels", "+@all"})};
    EXPECT_EQ(lock_outcome(c, "held", {.fenced = true}), errc::permission_denied);
    EXPECT_FALSE(raw.exists("held"));
}

TEST_F(hostile_server_test, a_read_only_replica_is_told) {
    raw.must({"REPLICAOF", "127.0.0.1", "1"});
    config s = settings();
    s.operation_timeout = 500ms;
    client c{io, s};
    EXPECT_EQ(lock_outcome(c), errc::read_only);
    raw.must({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(raw.dbsize(), 0);
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, a_replica_without_its_master_is_unavailable) {
    raw.must({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    raw.must({"REPLICAOF", "127.0.0.1", "1"});
    config s = settings();
    s.operation_timeout = 500ms;
    client c{io, s};
    EXPECT_EQ(lock_outcome(c), errc::server_unavailable);
    raw.must({"REPLICAOF", "NO", "ONE"});
    lock_and_unlock(c);
}

TEST_F(hostile_server_test, a_server_without_memory_is_told_and_can_still_release) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex held{c, "held"};
        const mutex refused{c, "refused"};
        hold h = co_await held.async_lock();
        raw.must({"CONFIG", "SET", "maxmemory", "1"});
        const auto [ec, none] = co_await refused.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::out_of_memory);
        EXPECT_FALSE(none);
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(verdict) << verdict.message();
        EXPECT_EQ(raw.dbsize(), 0);
    });
}

TEST_F(hostile_server_test, a_server_without_memory_can_still_renew) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "held"};
        const hold h = co_await m.async_lock({.lease = 900ms});
        raw.must({"CONFIG", "SET", "maxmemory", "1"});
        const bool renewed = co_await when([&] { return c.stats().renewals >= 4; });
        EXPECT_TRUE(renewed);
        EXPECT_TRUE(h.owns_lock());
    });
}

TEST_F(hostile_server_test, a_full_server_that_turns_connections_away_is_told) {
    raw.must({"CONFIG", "SET", "maxclients", "1"});
    config s = settings();
    s.operation_timeout = 400ms;
    client c{io, s};
    EXPECT_TRUE(lock_outcome(c));
    raw.must({"CONFIG", "SET", "maxclients", "100"});
    lock_and_unlock(c);
}

}  // namespace
