// SPDX-License-Identifier: BSL-1.0
// blocking_client and blocking_mutex: for threads without an event loop.
#include "support/redis_test.hpp"
#include "support/thrown.hpp"

#include <conch/blocking.hpp>
#include <conch/observer.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using boost::system::errc::operation_not_permitted;
using boost::system::errc::resource_deadlock_would_occur;

/// On a thread of its own, so that a test can watch it block.
template <typename Call>
auto elsewhere(Call call) {
    return std::async(std::launch::async, std::move(call));
}

template <typename T>
bool ends_soon(std::future<T>& f) {
    return f.wait_for(patience) == std::future_status::ready;
}

class blocking_test : public redis_test {
protected:
    bool locked(const std::string& name = "lock") { return raw.exists(name); }
    void take_away() { raw.must({"DEL", "lock"}); }
    bool waits(const blocking_client& c, std::uint64_t count) {
        return run_until(io, [&] { return c.stats().waiting_now == count; });
    }

    blocking_client redis{settings()};
    blocking_mutex m{redis, "lock", {.fenced = true}};
};

TEST_F(blocking_test, lock_guard_locks_and_unlocks) {
    {
        const std::lock_guard guard{m};
        EXPECT_TRUE(locked());
        EXPECT_TRUE(m.owns_lock());
        EXPECT_NE(m.fence(), 0U);
        EXPECT_GT(m.valid_until(), clock::now());
    }
    EXPECT_FALSE(locked()) << "unlock returned before the server confirmed";
    EXPECT_FALSE(m.owns_lock());
    EXPECT_EQ(m.fence(), 0U);
    EXPECT_EQ(m.valid_until(), time_point{});
}

TEST_F(blocking_test, a_thread_that_reports_progress_keeps_its_lock) {
    blocking_mutex tied{redis, "lock", {}, {.lease = 6s, .progress_within = 1s}};
    tied.progress();
    {
        const std::lock_guard guard{tied};
        const time_point renewed = tied.valid_until() + 1s;
        while (tied.valid_until() < renewed && tied.owns_lock()) {
            tied.progress();
            std::this_thread::yield();
        }
        EXPECT_TRUE(tied.owns_lock());
    }
    EXPECT_FALSE(tied.unlock_error()) << tied.unlock_error().message();
    tied.progress();
}

TEST_F(blocking_test, unique_lock_tries_and_waits) {
    blocking_client other{settings()};
    blocking_mutex theirs{other, "lock"};
    std::unique_lock held{theirs};
    std::unique_lock mine{m, std::defer_lock};
    EXPECT_FALSE(mine.try_lock());
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_FALSE(mine.try_lock_for(50ms));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 50ms);
    EXPECT_FALSE(mine.try_lock_until(std::chrono::system_clock::now() - 1h));
    EXPECT_FALSE(mine.try_lock_until(std::chrono::steady_clock::time_point::min()));
    EXPECT_FALSE(mine.try_lock_for(std::chrono::hours::min()));
    held.unlock();
    EXPECT_TRUE(mine.try_lock_until(std::chrono::steady_clock::now() + 10s));
    mine.unlock();
    EXPECT_TRUE(mine.try_lock_for(std::chrono::hours::max())) << "longer than a duration can say";
}

TEST_F(blocking_test, what_is_thrown_names_lock_and_server) {
    blocking_client c{settings()};
    blocking_mutex m{c, "m", {}, {.wait = 10ms}};
    blocking_client others{settings()};
    blocking_mutex same{others, "m"};
    const hold other = same.acquire();
    const std::string label = "lock \"m\" at " + settings().url() + ": not granted in time";
    const auto said = [](auto f) -> std::string {
        try {
            f();
        } catch (const system_error& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    EXPECT_TRUE(said([&] { m.lock(); }).starts_with(label)) << said([&] { m.lock(); });
    EXPECT_TRUE(said([&] { (void)m.acquire({.wait = 10ms}); }).starts_with(label));
    EXPECT_TRUE(said([&] { (void)m.acquire_future({.wait = 10ms}).get(); }).starts_with(label));
}

TEST_F(blocking_test, scoped_lock_takes_two_in_any_order) {
    blocking_mutex second{redis, "second"};
    int unprotected = 0;
    const auto count = [&](blocking_mutex& a, blocking_mutex& b) {
        for (int i = 0; i < 20; ++i) {
            const std::scoped_lock both{a, b};
            const int seen = unprotected;
            std::this_thread::yield();
            unprotected = seen + 1;
        }
    };
    auto one = elsewhere([&] { count(m, second); });
    auto two = elsewhere([&] { count(second, m); });
    one.get();
    two.get();
    EXPECT_EQ(unprotected, 40);
}

TEST_F(blocking_test, several_locks_are_one_for_threads_too) {
    const mutex first{redis.async(), "first"};
    const mutex second{redis.async(), "second"};
    blocking_mutex both{redis, multi_lock{first, second}};
    blocking_client other{settings()};
    blocking_mutex theirs{other, "second"};
    both.lock();
    EXPECT_TRUE(locked("first") && locked("second"));
    EXPECT_TRUE(both.owns_lock());
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_EQ(thrown([&] { both.lock(); }), resource_deadlock_would_occur);
    both.unlock();
    EXPECT_FALSE(locked("first") || locked("second"));
    {
        const std::lock_guard guard{theirs};
        EXPECT_FALSE(both.try_lock());
        EXPECT_FALSE(both.owns_lock());
        EXPECT_TRUE(run_until(io, [&] { return !locked("first"); })) << "none is kept";
    }
    {
        const std::scoped_lock all{m, both};
        EXPECT_TRUE(locked() && locked("first") && locked("second"));
    }
    EXPECT_FALSE(locked() || locked("first") || locked("second"));
    EXPECT_FALSE(both.unlock_error());
    theirs.lock();
    auto waiting = elsewhere([&] {
        const std::scoped_lock all{both, m};
        return both.owns_lock() && locked("first") && locked("second");
    });
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().waiting_now > 0; }));
    theirs.unlock();
    ASSERT_TRUE(ends_soon(waiting));
    EXPECT_TRUE(waiting.get());
}

TEST_F(blocking_test, threads_and_clients_exclude_each_other) {
    blocking_client other{settings()};
    blocking_mutex theirs{other, "lock"};
    int unprotected = 0;
    std::vector<std::future<void>> threads;
    for (int t = 0; t < 8; ++t) {
        threads.push_back(elsewhere([&, t] {
            blocking_mutex& mine = t % 2 == 0 ? m : theirs;
            for (int i = 0; i < 25; ++i) {
                const std::lock_guard guard{mine};
                const int seen = unprotected;
                std::this_thread::yield();
                unprotected = seen + 1;
            }
        }));
    }
    for (std::future<void>& t : threads) {
        t.get();
    }
    EXPECT_EQ(unprotected, 200);
}

TEST_F(blocking_test, a_thread_that_has_the_lock_is_not_left_to_wait_for_itself) {
    const std::lock_guard guard{m};
    EXPECT_EQ(thrown([&] { m.lock(); }), resource_deadlock_would_occur);
    EXPECT_EQ(thrown([&] { (void)m.try_lock(); }), resource_deadlock_would_occur);
}

TEST_F(blocking_test, who_does_not_have_the_lock_can_not_unlock_it) {
    const std::lock_guard guard{m};
    auto other = elsewhere([&] { return thrown([&] { m.unlock(); }); });
    EXPECT_EQ(other.get(), operation_not_permitted);
    EXPECT_TRUE(locked());
}

TEST_F(blocking_test, a_thread_does_not_inherit_from_one_that_ended) {
    std::thread::id gone;
    std::thread{[&] {
        m.lock();
        gone = std::this_thread::get_id();
    }}.join();
    bool met = false;
    for (int i = 0; i < 100 && !met; ++i) {
        std::thread{[&] {
            met = std::this_thread::get_id() == gone;
            EXPECT_FALSE(m.owns_lock());
            EXPECT_FALSE(m.try_lock()) << "it is held still";
        }}.join();
    }
    EXPECT_TRUE(met) << "no thread got the id of the one that ended: nothing was tested";
}

TEST_F(blocking_test, a_loss_is_found_by_unlock_and_told_when_asked) {
    m.lock();
    take_away();
    m.unlock();
    EXPECT_EQ(m.unlock_error(), errc::lock_lost);
    auto other = elsewhere([&] { return m.unlock_error(); });
    EXPECT_FALSE(other.get()) << "another thread's";
    m.lock();
    m.unlock();
    EXPECT_FALSE(m.unlock_error()) << "of the unlock before";
}

TEST_F(blocking_test, the_options_of_the_mutex_are_those_of_its_locks) {
    blocking_mutex patient{redis, "lock", {}, {.wait = 30ms, .lease = 2s, .renew = false}};
    {
        const std::lock_guard guard{patient};
        EXPECT_LE(raw.pttl("lock"), 2000);
    }
    const std::lock_guard guard{m};
    EXPECT_EQ(thrown([&] { patient.lock(); }), errc::timed_out);
    blocking_mutex bad{redis, "lock", {}, {.lease = -1s}};
    EXPECT_EQ(thrown([&] { bad.lock(); }), errc::invalid_lease);
    EXPECT_THROW(blocking_mutex(redis, ""), std::invalid_argument);
    EXPECT_THROW(blocking_client{config{.host = ""}}, std::invalid_argument);
}

TEST_F(blocking_test, holds_are_bound_to_no_thread) {
    hold h = m.acquire({.wait = 5s});
    EXPECT_TRUE(h.owns_lock());
    const hold none = m.try_acquire();
    EXPECT_FALSE(none);
    auto other = elsewhere([&] { m.unlock(h); });
    other.get();
    EXPECT_FALSE(locked());
    EXPECT_EQ(thrown([&] { m.unlock(h); }), errc::already_released);
    hold lost = m.acquire();
    take_away();
    EXPECT_EQ(thrown([&] { m.unlock(lost); }), errc::lock_lost);
}

TEST_F(blocking_test, a_future_has_the_hold_or_the_error) {
    std::future<hold> first = m.acquire_future();
    hold h = first.get();
    std::future<hold> second = m.acquire_future({.wait = 20ms});
    EXPECT_EQ(thrown([&] { (void)second.get(); }), errc::timed_out);
    std::future<hold> third = m.acquire_future();
    EXPECT_EQ(third.wait_for(0s), std::future_status::timeout);
    m.unlock(h);
    EXPECT_TRUE(ends_soon(third));
    EXPECT_TRUE(third.get().owns_lock());
}

TEST_F(blocking_test, a_future_that_nobody_reads_releases_its_lock) {
    {
        const std::future<hold> unread = m.acquire_future();
    }
    EXPECT_TRUE(m.try_lock_for(10s));
    m.unlock();
}

TEST_F(blocking_test, status_and_forced_release) {
    EXPECT_FALSE(m.status().locked);
    const hold h = m.acquire();
    EXPECT_TRUE(m.status().holder.starts_with(redis.id()));
    EXPECT_TRUE(m.force_unlock());
    EXPECT_FALSE(m.force_unlock());
}

TEST_F(blocking_test, a_call_on_its_own_thread_throws) {
    std::promise<std::vector<error_code>> told;
    blocking_mutex busy{redis, "busy"};
    hold h = busy.acquire();
    boost::asio::post(redis.async().get_executor(), [&] {
        told.set_value({thrown([&] { m.lock(); }), thrown([&] { (void)m.try_lock(); }),
                        thrown([&] { (void)m.try_lock_for(1s); }), thrown([&] { m.unlock(); }),
                        thrown([&] { (void)m.acquire(); }), thrown([&] { (void)m.try_acquire(); }),
                        thrown([&] { busy.unlock(h); }), thrown([&] { (void)m.status(); }),
                        thrown([&] { (void)m.force_unlock(); }),
                        thrown([&] { redis.shutdown(); })});
    });
    for (const error_code& ec : told.get_future().get()) {
        EXPECT_EQ(ec, resource_deadlock_would_occur);
    }
    EXPECT_TRUE(h.owns_lock());
}

TEST_F(blocking_test, shutdown_ends_the_calls_that_block) {
    blocking_client other{settings()};
    blocking_mutex theirs{other, "lock"};
    const std::lock_guard guard{theirs};
    auto blocked = elsewhere([&] { return thrown([&] { m.lock(); }); });
    ASSERT_TRUE(waits(redis, 1));
    redis.shutdown();
    ASSERT_TRUE(ends_soon(blocked));
    EXPECT_EQ(blocked.get(), errc::client_closed);
    redis.shutdown();
}

TEST_F(blocking_test, calls_after_the_shutdown_are_answered) {
    hold h = m.acquire();
    redis.shutdown();
    EXPECT_FALSE(locked()) << "shutdown returned before its releases";
    EXPECT_EQ(h.lost_reason(), errc::client_closed);
    EXPECT_EQ(thrown([&] { m.unlock(h); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { m.lock(); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { (void)m.try_acquire(); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { (void)m.acquire_future().get(); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { (void)m.status(); }), errc::client_closed);
}

TEST_F(blocking_test, mutexes_and_holds_may_outlive_the_client) {
    std::optional<blocking_client> short_lived{std::in_place, settings()};
    auto survivor = std::make_unique<blocking_mutex>(*short_lived, "survivor");
    hold h = survivor->acquire();
    short_lived.reset();
    EXPECT_FALSE(locked("survivor"));
    EXPECT_EQ(thrown([&] { survivor->lock(); }), errc::client_closed);
    EXPECT_EQ(thrown([&] { survivor->unlock(h); }), errc::client_closed);
    survivor.reset();
    EXPECT_EQ(h.lost_reason(), errc::client_closed);
    h.release();
}

TEST_F(blocking_test, the_last_handle_may_go_in_a_handler) {
    auto last = std::make_unique<blocking_client>(settings());
    std::promise<void> gone;
    blocking_client& c = *last;
    boost::asio::post(c.async().get_executor(), [&gone, last = std::move(last)]() mutable {
        last.reset();
        gone.set_value();
    });
    auto end = gone.get_future();
    EXPECT_TRUE(ends_soon(end));
}

TEST_F(blocking_test, a_handler_that_throws_does_not_end_the_loop) {
    boost::asio::post(redis.async().get_executor(), [] { throw std::runtime_error{"user's"}; });
    m.lock();
    m.unlock();
}

TEST_F(blocking_test, without_a_server_the_call_says_so) {
    config nowhere = settings();
    nowhere.unix_path += ".none";
    nowhere.operation_timeout = 100ms;
    blocking_client lonely{nowhere};
    blocking_mutex lock{lonely, "lock"};
    EXPECT_EQ(thrown([&] { lock.lock(); }), errc::not_connected);
    EXPECT_FALSE(lonely.last_server_error().empty());
}

TEST_F(blocking_test, without_a_server_a_wait_bounds_the_call_and_is_cut_by_the_operation_timeout) {
    config nowhere = settings();
    nowhere.unix_path += ".none";
    nowhere.operation_timeout = 30s;
    blocking_client lonely{nowhere};
    blocking_mutex lock{lonely, "lock"};
    const time_point start = clock::now();
    EXPECT_EQ(thrown([&] { lock.try_lock_for(200ms); }), errc::not_connected);
    EXPECT_EQ(thrown([&] { const std::unique_lock held{lock, 200ms}; }), errc::not_connected);
    EXPECT_LT(clock::now() - start, 10s);
    nowhere.operation_timeout = 200ms;
    blocking_client hurried{nowhere};
    blocking_mutex other{hurried, "lock"};
    EXPECT_EQ(thrown([&] { other.try_lock_for(60s); }), errc::not_connected);
    EXPECT_LT(clock::now() - start, 20s);
}

}  // namespace
