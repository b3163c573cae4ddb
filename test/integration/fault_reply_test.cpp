// SPDX-License-Identifier: BSL-1.0
// Commands and replies that get lost: a lock is taken once, released once, and never left behind.
#include "support/attempt.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

namespace {

using namespace conch;
using namespace conch::test;

class fault_reply_test : public redis_test {
protected:
    /// Connects, and leaves the client idle.
    void connect(client& c) {
        run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
    }

    void expect_count(const std::string& name, const std::string& count) {
        const auto fields = raw.hgetall(name);
        ASSERT_EQ(fields.size(), 1u);
        EXPECT_EQ(fields.begin()->second, count);
    }

    /// The lock was granted; its unlock is confirmed, and leaves nothing.
    void unlock(hold& h, const std::string& name) {
        plain_attempt u = start_unlock(h);
        ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
        EXPECT_FALSE(u.ec()) << u.ec().message();
        EXPECT_FALSE(raw.exists(name));
    }
};

/// The same through a wire that may lose what it carries, by a client that is connected and idle.
class lost_reply_test : public fault_reply_test {
protected:
    void SetUp() override { connect(c); }

    proxy wire{server.socket_path()};
    client c{io, settings_for(wire.socket_path())};
};

TEST_F(lost_reply_test, a_lost_reply_to_an_acquire_leaves_a_count_of_one) {
    const mutex m{c, "lost", {.fenced = true}};
    wire.swallow_replies();
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return raw.exists("lost"); }));
    EXPECT_FALSE(a.done());
    const auto token = raw.get(fence_key_of("lost"));
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    expect_count("lost", "1");
    EXPECT_EQ(std::to_string(a.value().fence()), token) << "a replay took a second token";
    unlock(a.value(), "lost");
}

TEST_F(lost_reply_test, a_lost_reply_to_an_unlock_leaves_nothing_and_is_no_error) {
    const mutex m{c, "lost"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    wire.swallow_replies();
    plain_attempt u = start_unlock(a.value());
    ASSERT_TRUE(run_until(io, [&] { return !raw.exists("lost"); }));
    EXPECT_FALSE(u.done());
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
    EXPECT_FALSE(u.ec()) << u.ec().message();
    EXPECT_FALSE(raw.exists("lost"));
}

TEST_F(lost_reply_test, a_replayed_unlock_does_not_release_the_next_holder) {
    const mutex m{c, "lost"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    wire.swallow_replies();
    plain_attempt u = start_unlock(a.value());
    ASSERT_TRUE(run_until(io, [&] { return !raw.exists("lost"); }));
    take_as_stranger(raw, "lost");
    const auto theirs = raw.hgetall("lost");
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
    EXPECT_FALSE(u.ec()) << u.ec().message();
    EXPECT_EQ(raw.hgetall("lost"), theirs);
}

TEST_F(lost_reply_test, an_acquire_lost_on_its_way_is_sent_again) {
    const mutex m{c, "lost"};
    wire.swallow_requests();
    const auto before = c.stats().script_calls;
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return c.stats().script_calls > before; }));
    EXPECT_FALSE(raw.exists("lost"));
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    expect_count("lost", "1");
    unlock(a.value(), "lost");
}

TEST_F(fault_reply_test, an_acquire_held_up_by_pause_and_killed_is_taken_once) {
    client c{io, settings()};
    connect(c);
    const mutex m{c, "paused"};
    raw.pause_writes(10s);
    const auto before = c.stats().script_calls;
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return c.stats().script_calls > before; }));
    step(io, 5, 20ms);
    EXPECT_EQ(raw.kill_connections("conch"), 1u);
    raw.unpause();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    expect_count("paused", "1");
    unlock(a.value(), "paused");
}

TEST_F(fault_reply_test, an_unlock_held_up_by_pause_and_killed_leaves_nothing) {
    client c{io, settings()};
    connect(c);
    const mutex m{c, "paused"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    raw.pause_writes(10s);
    const auto before = c.stats().script_calls;
    plain_attempt u = start_unlock(a.value());
    ASSERT_TRUE(run_until(io, [&] { return c.stats().script_calls > before; }));
    step(io, 5, 20ms);
    EXPECT_EQ(raw.kill_connections("conch"), 1u);
    raw.unpause();
    ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
    EXPECT_FALSE(u.ec()) << u.ec().message();
    EXPECT_FALSE(raw.exists("paused"));
}

TEST_F(lost_reply_test, an_acquire_that_a_restart_forgot_is_taken_once_on_the_new_server) {
    const mutex m{c, "restarted"};
    wire.swallow_replies();
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return raw.exists("restarted"); }));
    restart_empty();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    expect_count("restarted", "1");
    unlock(a.value(), "restarted");
}

TEST_F(lost_reply_test, an_unlock_that_a_restart_forgot_is_done) {
    const mutex m{c, "restarted"};
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    wire.swallow_replies();
    plain_attempt u = start_unlock(a.value());
    ASSERT_TRUE(run_until(io, [&] { return !raw.exists("restarted"); }));
    restart_empty();
    ASSERT_TRUE(run_until(io, [&] { return u.done(); }));
    EXPECT_FALSE(u.ec()) << u.ec().message();
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_F(fault_reply_test, a_hold_survives_the_loss_of_its_connection) {
    client c{io, settings()};
    connect(c);
    const mutex m{c, "kept"};
    lock_attempt a = start_lock(m, {.lease = 3s});
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    const auto fields = raw.hgetall("kept");
    EXPECT_EQ(raw.kill_connections("conch"), 1u);
    const auto before = c.stats().renewals;
    ASSERT_TRUE(run_until(io, [&] { return c.stats().renewals >= before + 2; }));
    EXPECT_TRUE(a.value().owns_lock());
    EXPECT_EQ(raw.hgetall("kept"), fields);
    EXPECT_EQ(c.stats().connects, 2u);
    unlock(a.value(), "kept");
}

TEST_F(fault_reply_test, a_waiter_subscribes_again_after_the_loss_of_its_connection) {
    client c{io, push_only()};
    connect(c);
    const mutex m{c, "waited"};
    take_as_stranger(raw, "waited");
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return listening("waited"); }));
    EXPECT_EQ(raw.kill_connections("conch"), 1u);
    ASSERT_TRUE(run_until(io, [&] { return c.stats().connects == 2 && listening("waited"); }));
    redisson_release(raw, "waited");
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
}

TEST_F(fault_reply_test, a_release_that_happens_while_the_waiter_is_cut_off_is_not_missed) {
    proxy wire{server.socket_path()};
    config s = push_only();
    s.unix_path = wire.socket_path();
    client c{io, s};
    connect(c);
    const mutex m{c, "waited"};
    take_as_stranger(raw, "waited");
    lock_attempt a = start_lock(m);
    ASSERT_TRUE(run_until(io, [&] { return listening("waited"); }));
    wire.swallow_replies();
    redisson_release(raw, "waited");  // the message is lost
    wire.cut();
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
}

TEST_F(lost_reply_test, the_new_connection_ends_the_old_one_on_the_same_server) {
    EXPECT_EQ(raw.connections("conch").size(), 1u);
    const std::string old = raw.connections("conch").front().id;
    wire.cut_clients_only();  // for the server, the old connection lives on
    ASSERT_TRUE(run_until(io, [&] { return wire.accepted() == 2; }));
    connect(c);
    ASSERT_TRUE(run_until(io, [&] { return raw.connections("conch").size() == 1; }));
    EXPECT_NE(raw.connections("conch").front().id, old);
    EXPECT_EQ(c.stats().old_fenced, 1u);
}

TEST_F(fault_reply_test, no_connection_of_another_server_process_is_killed) {
    client c{io, settings()};
    connect(c);
    restart_empty();
    connect(c);
    EXPECT_EQ(c.stats().connects, 2u);
    EXPECT_EQ(c.stats().old_fenced, 0u);
    EXPECT_EQ(raw.calls("client|kill"), 0u);
}

}  // namespace
