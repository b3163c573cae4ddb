// SPDX-License-Identifier: BSL-1.0
// What a forked child may do with the clients of its parent, and with its own.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"
#include "support/thrown.hpp"

#include <conch/blocking.hpp>

#include <gtest/gtest.h>
#include <boost/asio/execution_context.hpp>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;
using report = child_process::report;

/// In a child, where GoogleTest's failures are not seen: the child's exit status.
class findings {
public:
    void that(bool holds, const char* what) {
        if (!holds) {
            std::fprintf(stderr, "child: not so: %s\n", what);
            ++wrong_;
        }
    }
    template <typename Call>
    void forked(Call call, const char* what) {
        that(thrown(call) == errc::forked, what);
    }
    /// The same, of a call that concerns what has this name.
    template <typename Call>
    void forked_with_name(Call call, const char* what, const std::string& name = "lock") {
        try {
            call();
            that(false, what);
        } catch (const system_error& e) {
            that(e.code() == errc::forked, what);
            that(std::string{e.what()}.find('"' + name + '"') != std::string::npos, e.what());
        }
    }
    int wrong() const noexcept { return wrong_; }

private:
    int wrong_ = 0;
};

class blocking_fork : public redis_test {
protected:
    /// The parent has a thread, a connection and this lock.
    blocking_fork() { m.lock(); }

    void child_finds(const std::function<void(findings&)>& body) {
        child_process child{[&](const report&) {
            findings f;
            body(f);
            return f.wrong();
        }};
        EXPECT_EQ(child.join(), 0);
        EXPECT_TRUE(m.owns_lock());
        EXPECT_TRUE(raw.exists("lock"));
        m.unlock();
        EXPECT_FALSE(m.unlock_error());
        EXPECT_FALSE(raw.exists("lock"));
    }

    blocking_client redis{settings()};
    blocking_mutex m{redis, "lock", {.fenced = true}};
};

TEST_F(blocking_fork, every_call_of_an_inherited_client_throws_at_once) {
    hold h = blocking_mutex{redis, "second"}.acquire();
    blocking_rate_limiter limit{redis, "rate", {}};
    child_finds([&](findings& f) {
        f.forked_with_name([&] { m.lock(); }, "lock");
        f.forked_with_name([&] { (void)m.try_lock(); }, "try_lock");
        f.forked_with_name([&] { (void)m.try_lock_for(10s); }, "try_lock_for");
        f.forked_with_name([&] { (void)m.acquire(); }, "acquire");
        f.forked_with_name([&] { (void)m.try_acquire({.wait = 1s}); }, "try_acquire");
        f.forked_with_name([&] { (void)m.acquire_future(); }, "acquire_future");
        f.forked_with_name([&] { m.unlock(h); }, "unlock of a hold");
        f.forked_with_name([&] { m.downgrade(); }, "downgrade");
        f.forked_with_name([&] { m.downgrade(h); }, "downgrade of a hold");
        f.forked_with_name([&] { (void)m.status(); }, "status");
        f.forked_with_name([&] { (void)m.force_unlock(); }, "force_unlock");
        f.forked([&] { limit.acquire(); }, "acquire of a permit");
        f.forked([&] { limit.try_acquire(); }, "try_acquire of a permit");
        f.forked([&] { redis.shutdown(); }, "shutdown");
        f.forked([&] { (void)redis.stats(); }, "stats");
        f.forked([&] { (void)redis.last_server_error(); }, "last_server_error");
        f.forked([&] { (void)redis.last_deadlock(); }, "last_deadlock");
        f.forked([&] { (void)redis.async(); }, "async");
        f.forked([&] { const blocking_mutex another(redis, "another"); }, "a mutex of it");
    });
}

TEST_F(blocking_fork, every_call_of_an_inherited_semaphore_throws_at_once) {
    blocking_semaphore slots{redis, "slots"};
    slots.set(3);
    child_finds([&](findings& f) {
        const auto throws = [&](auto call, const char* what) {
            f.forked_with_name(call, what, "slots");
        };
        throws([&] { slots.acquire(); }, "acquire");
        throws([&] { slots.acquire(9, {.wait = 10s}); }, "acquire of too many");
        throws([&] { (void)slots.try_acquire(); }, "try_acquire");
        throws([&] { slots.release(); }, "release");
        throws([&] { slots.add(1); }, "add");
        throws([&] { slots.set(1); }, "set");
        throws([&] { (void)slots.try_set(1); }, "try_set");
        throws([&] { (void)slots.drain(); }, "drain");
        throws([&] { (void)slots.available(); }, "available");
        f.forked([&] { const blocking_semaphore another(redis, "another"); }, "another");
    });
    EXPECT_EQ(slots.available(), 3);
}

TEST_F(blocking_fork, every_call_of_an_inherited_latch_throws_at_once) {
    blocking_latch starting{redis, "starting"};
    starting.try_set_count(3);
    child_finds([&](findings& f) {
        const auto throws = [&](auto call, const char* what) {
            f.forked_with_name(call, what, "starting");
        };
        throws([&] { (void)starting.try_set_count(1); }, "try_set_count");
        throws([&] { starting.count_down(); }, "count_down");
        throws([&] { starting.wait(); }, "wait");
        throws([&] { (void)starting.count(); }, "count");
        f.forked([&] { const blocking_latch another(redis, "another"); }, "another");
    });
    EXPECT_EQ(starting.count(), 3);
}

TEST_F(blocking_fork, what_the_parent_has_the_child_neither_has_nor_releases) {
    blocking_mutex second{redis, "second"};
    hold h = second.acquire();
    const std::stop_token of_parent = h.stop_token();
    child_finds([&](findings& f) {
        f.that(!m.owns_lock(), "does not own");
        f.that(m.fence() == 0, "has no fence");
        f.that(m.valid_until() == time_point{}, "valid until the epoch");
        m.progress();
        m.unlock();
        f.that(m.unlock_error() == errc::forked, "unlock says why it does nothing");
        f.that(!h.owns_lock(), "nor by a hold");
        f.that(m.stop_token().stop_requested(), "a token of the mutex is stopped");
        f.that(h.stop_token().stop_requested(), "a token of a hold is stopped");
        h.release();
        h = {};
    });
    EXPECT_TRUE(h.owns_lock());
    EXPECT_FALSE(of_parent.stop_requested());
    EXPECT_TRUE(raw.exists("second"));
    second.unlock(h);
}

TEST_F(blocking_fork, what_is_destroyed_in_the_child_does_not_wait_and_goes_on_in_the_parent) {
    auto client = std::make_unique<blocking_client>(settings());
    auto mutex_of_it = std::make_unique<blocking_mutex>(*client, "second");
    mutex_of_it->lock();
    std::optional<hold> h = blocking_mutex{*client, "third"}.acquire();
    child_finds([&](findings&) {
        client.reset();
        mutex_of_it.reset();
        h.reset();
    });
    EXPECT_TRUE(mutex_of_it->owns_lock());
    EXPECT_TRUE(h->owns_lock());
    mutex_of_it->unlock();
    EXPECT_FALSE(mutex_of_it->unlock_error());
    EXPECT_FALSE(raw.exists("second"));
    EXPECT_TRUE(raw.exists("third"));
}

TEST_F(blocking_fork, a_guard_that_ends_in_the_child_leaves_the_lock_to_the_parent) {
    m.unlock();
    std::optional<std::lock_guard<blocking_mutex>> guard;
    guard.emplace(m);
    child_finds([&](findings&) { guard.reset(); });
    m.lock();  // for the guard
}

TEST_F(blocking_fork, a_client_made_in_the_child_works) {
    child_finds([&](findings& f) {
        blocking_client own{settings()};
        blocking_mutex taken{own, "lock"};
        f.that(!taken.try_lock_for(50ms), "the parent has it");
        blocking_mutex free{own, "free"};
        f.that(free.try_lock_for(10s), "locks");
        free.unlock();
        f.that(!free.unlock_error(), "unlocks");
        f.that(free.acquire_future().get().owns_lock(), "by a future");
    });
}

TEST_F(blocking_fork, a_client_made_in_the_child_does_not_unlock_an_inherited_hold) {
    hold h = blocking_mutex{redis, "second"}.acquire();
    child_finds([&](findings& f) {
        blocking_client own{settings()};
        blocking_mutex second{own, "second"};
        f.forked([&] { second.unlock(h); }, "unlock");
        f.that(!second.try_lock(), "the parent has it");
    });
    EXPECT_TRUE(h.owns_lock());
}

TEST_F(blocking_fork, a_child_of_the_child_is_another_process) {
    child_finds([&](findings& f) {
        blocking_client own{settings()};
        blocking_mutex mine{own, "mine"};
        mine.lock();
        child_process grandchild{[&](const report&) {
            findings g;
            g.forked([&] { (void)mine.try_lock(); }, "of the child");
            g.forked([&] { (void)m.try_lock(); }, "of the parent");
            return g.wrong();
        }};
        f.that(grandchild.join() == 0, "the grandchild's");
        mine.unlock();
        f.that(!mine.unlock_error(), "unlocks");
    });
}

TEST_F(blocking_fork, operations_of_an_inherited_asynchronous_client_end_as_forked) {
    auto context = std::make_unique<asio::io_context>();
    auto client_of_it = std::make_unique<client>(*context, settings());
    hold h;
    mutex{*client_of_it, "second"}.async_lock([&](error_code, hold granted) {
        h = std::move(granted);
        context->stop();
    });
    context->run();
    context->restart();
    ASSERT_TRUE(h.owns_lock());
    context->notify_fork(asio::execution_context::fork_prepare);
    child_finds([&](findings& f) {
        context->notify_fork(asio::execution_context::fork_child);
        error_code of_lock, of_unlock;
        mutex{*client_of_it, "third"}.async_lock([&](error_code ec, hold) { of_lock = ec; });
        h.async_unlock([&](error_code ec) {
            of_unlock = ec;
            context->stop();
        });
        context->run();
        f.that(of_lock == errc::forked, "async_lock");
        f.that(of_unlock == errc::forked, "async_unlock");
        h = {};
        client_of_it.reset();
        context.reset();
    });
    context->notify_fork(asio::execution_context::fork_parent);
    error_code of_unlock = errc::forked;
    h.async_unlock([&](error_code ec) {
        of_unlock = ec;
        context->stop();
    });
    context->run();
    EXPECT_FALSE(of_unlock) << of_unlock.message();
    EXPECT_FALSE(raw.exists("second"));
}

// The parent is told of the release once: a child that read it would leave the parent waiting.
TEST_F(blocking_fork, a_child_that_runs_an_inherited_context_leaves_the_connection_to_its_parent) {
    client waiter{io, push_only()};
    bool granted = false;
    hold h;
    mutex{waiter, "lock"}.async_lock([&](error_code, hold got) {
        h = std::move(got);
        granted = true;
    });
    ASSERT_TRUE(run_until(io, [&] { return listening("lock"); }));
    io.notify_fork(asio::execution_context::fork_prepare);
    child_process child{[&](const report&) {
        io.notify_fork(asio::execution_context::fork_child);
        raw_client own{server.socket_path()};
        while (own.exists("lock")) {
            std::this_thread::yield();
        }
        while (io.poll() > 0) {
        }
        return granted ? 1 : 0;
    }};
    io.notify_fork(asio::execution_context::fork_parent);
    m.unlock();
    EXPECT_EQ(child.join(), 0);
    EXPECT_TRUE(run_until(io, [&] { return granted; }));
    EXPECT_TRUE(h.owns_lock());
}

}  // namespace
