// SPDX-License-Identifier: BSL-1.0
// What threads are told of the loss of a hold: by a std::stop_token, and by a callback.
#include "support/redis_test.hpp"

#include <conch/blocking.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

/// Of a callback that may be called once at most.
class told {
public:
    /// For a lost_callback.
    auto listener() {
        return [this](error_code why) {
            ++calls_;
            thread_ = std::this_thread::get_id();
            why_.set_value(why);
        };
    }
    error_code why() {
        std::future<error_code> f = why_.get_future();
        return f.wait_for(patience) == std::future_status::ready ? f.get() : error_code{};
    }
    int calls() const noexcept { return calls_; }
    std::thread::id thread() const noexcept { return thread_; }

private:
    std::promise<error_code> why_{};
    std::atomic<int> calls_{0};
    std::thread::id thread_{};
};

/// As a thread's work that ends by the token, or comes to nothing.
bool work_is_stopped(const std::stop_token& token) {
    std::mutex mutex;
    std::condition_variable_any news;
    std::unique_lock lock{mutex};
    news.wait_for(lock, token, patience, [] { return false; });
    return token.stop_requested();
}

class blocking_loss : public redis_test {
protected:
    void take_away() { raw.must({"DEL", "lock"}); }
    std::thread::id own_thread() {
        std::promise<std::thread::id> id;
        boost::asio::post(redis->async().get_executor(),
                          [&] { id.set_value(std::this_thread::get_id()); });
        return id.get_future().get();
    }
    /// What was to be told of the client's holds has been told then.
    void close() { redis->shutdown(); }

    std::optional<blocking_client> redis{std::in_place, settings()};
    blocking_mutex m{*redis, "lock"};
    /// Renewed each second, which finds out who took it.
    const lock_options short_lease{.lease = 3s};
};

TEST_F(blocking_loss, a_forced_unlock_stops_the_thread_that_works) {
    const hold h = m.acquire(short_lease);
    std::promise<bool> stopped;
    const std::jthread worker{
        [&, token = h.stop_token()] { stopped.set_value(work_is_stopped(token)); }};
    EXPECT_FALSE(h.stop_token().stop_requested());
    blocking_client other{settings("other")};
    EXPECT_TRUE((blocking_mutex{other, "lock"}.force_unlock()));
    EXPECT_TRUE(stopped.get_future().get());
    EXPECT_EQ(h.lost_reason(), errc::lock_lost);
}

TEST_F(blocking_loss, a_killed_server_stops_the_work_at_the_end_of_the_lease) {
    told cause;
    const hold h = m.acquire({.lease = 3s});
    const lost_callback calls{h, cause.listener()};
    server.kill();
    EXPECT_TRUE(work_is_stopped(h.stop_token()));
    EXPECT_LT(clock::now(), h.valid_until() + 4s) << "the server was waited for";
    EXPECT_EQ(cause.why(), errc::lease_expired);
    EXPECT_EQ(h.lost_reason(), errc::lease_expired);
}

TEST_F(blocking_loss, a_frozen_server_stops_the_work_ahead_of_the_end_of_the_lease) {
    const hold h = m.acquire({.lease = 4s});
    std::promise<std::pair<error_code, bool>> heard;
    const auto tell = [&](error_code why) { heard.set_value({why, h.owns_lock()}); };
    const lost_callback calls{h, tell, 2s};
    const std::stop_token token = h.stop_token(2s);
    server.freeze();
    EXPECT_TRUE(work_is_stopped(token));
    const auto [why, owned] = heard.get_future().get();
    EXPECT_EQ(why, errc::lease_expired);
    EXPECT_TRUE(owned) << "there were to be 2 s left";
    server.thaw();
}

TEST_F(blocking_loss, a_hold_that_was_given_back_is_not_lost) {
    const auto unlock = [&](hold& h) { m.unlock(h); };
    const auto release = [](hold& h) { h.release(); };
    const auto destroy = [](hold& h) { h = {}; };
    const auto detach = [](hold& h) { h.detach(); };
    const std::function<void(hold&)> ways[]{unlock, release, destroy, detach};
    std::vector<std::stop_token> tokens;
    told cause;
    for (const auto& give_back : ways) {
        hold h = m.acquire(short_lease);
        tokens.push_back(h.stop_token());
        tokens.push_back(h.stop_token(1s));
        const lost_callback calls{h, cause.listener()};
        give_back(h);
    }
    close();
    for (const std::stop_token& t : tokens) {
        EXPECT_FALSE(t.stop_requested());
        EXPECT_FALSE(t.stop_possible());
    }
    EXPECT_EQ(cause.calls(), 0);
}

TEST_F(blocking_loss, a_release_that_finds_the_lock_lost_requests_no_stop) {
    hold h = m.acquire();
    const std::stop_token token = h.stop_token();
    take_away();
    EXPECT_THROW(m.unlock(h), system_error);
    close();
    EXPECT_FALSE(token.stop_requested());
}

TEST_F(blocking_loss, who_releases_while_a_loss_is_being_told_is_told_nothing) {
    hold h = m.acquire(short_lease);
    std::promise<void> released;
    h.async_wait_lost([&](error_code) {
        h.release();
        released.set_value();
    });
    const std::stop_token token = h.stop_token();
    take_away();
    released.get_future().get();
    close();
    EXPECT_EQ(h.lost_reason(), errc::lock_lost);
    EXPECT_FALSE(token.stop_requested());
}

TEST_F(blocking_loss, who_asks_after_the_loss_is_told_at_once) {
    const hold h = m.acquire(short_lease);
    take_away();
    ASSERT_TRUE(work_is_stopped(h.stop_token()));
    std::promise<void> answered;
    boost::asio::post(redis->async().get_executor(),
                      [after = answered.get_future().share()] { after.wait(); });
    EXPECT_TRUE(h.stop_token().stop_requested());
    EXPECT_TRUE(h.stop_token(1s).stop_requested());
    told cause;
    const lost_callback calls{h, cause.listener()};
    EXPECT_EQ(cause.calls(), 1);
    EXPECT_EQ(cause.why(), errc::lock_lost);
    EXPECT_EQ(cause.thread(), std::this_thread::get_id());
    answered.set_value();
}

TEST_F(blocking_loss, what_is_no_hold_is_stopped) {
    EXPECT_TRUE(hold{}.stop_token().stop_requested());
    hold h = m.acquire();
    h.release();
    EXPECT_TRUE(h.stop_token().stop_requested());
    told cause;
    const lost_callback calls{h, cause.listener()};
    EXPECT_EQ(cause.why(), errc::already_released);
}

TEST_F(blocking_loss, a_negative_time_ahead_is_refused) {
    const hold h = m.acquire();
    try {
        (void)h.stop_token(-1ms);
        ADD_FAILURE() << "it was taken";
    } catch (const system_error& e) {
        EXPECT_EQ(e.code(), errc::invalid_wait);
    }
}

TEST_F(blocking_loss, a_callback_runs_on_the_clients_own_thread_where_no_call_may_block) {
    const hold h = m.acquire(short_lease);
    std::promise<std::pair<std::thread::id, bool>> ran;
    const lost_callback calls{h, [&](error_code) {
                                  bool refused = false;
                                  try {
                                      m.lock();
                                  } catch (const system_error&) {
                                      refused = true;
                                  }
                                  ran.set_value({std::this_thread::get_id(), refused});
                              }};
    take_away();
    const auto [thread, refused] = ran.get_future().get();
    EXPECT_EQ(thread, own_thread());
    EXPECT_TRUE(refused);
}

TEST_F(blocking_loss, a_callback_that_is_gone_is_not_called) {
    told cause;
    const hold h = m.acquire(short_lease);
    {
        const lost_callback calls{h, cause.listener()};
    }
    take_away();
    EXPECT_TRUE(work_is_stopped(h.stop_token()));
    close();
    EXPECT_EQ(cause.calls(), 0);
}

TEST_F(blocking_loss, the_end_of_a_callback_waits_until_it_has_run) {
    using listener = std::function<void(error_code)>;
    const hold h = m.acquire(short_lease);
    std::promise<void> entered, leave;
    std::atomic<bool> ran{false};
    std::optional<lost_callback<listener>> calls;
    calls.emplace(h, [&, left = leave.get_future().share()](error_code) {
        entered.set_value();
        left.wait();
        ran = true;
    });
    take_away();
    entered.get_future().get();
    auto end = std::async(std::launch::async, [&] {
        calls.reset();
        return ran.load();
    });
    EXPECT_EQ(end.wait_for(50ms), std::future_status::timeout);
    leave.set_value();
    EXPECT_TRUE(end.get());
}

TEST_F(blocking_loss, a_callback_may_end_itself) {
    using listener = std::function<void(error_code)>;
    const hold h = m.acquire(short_lease);
    std::promise<void> ended;
    std::optional<lost_callback<listener>> calls;
    calls.emplace(h, [&](error_code) {
        std::promise<void>& told = ended;
        calls.reset();
        told.set_value();
    });
    take_away();
    ended.get_future().get();
}

TEST_F(blocking_loss, a_hold_that_moved_is_watched_still) {
    told cause;
    hold first = m.acquire(short_lease);
    const lost_callback calls{first, cause.listener()};
    const std::stop_token token = first.stop_token();
    const hold second = std::move(first);
    take_away();
    EXPECT_TRUE(work_is_stopped(token));
    EXPECT_EQ(cause.why(), errc::lock_lost);
}

TEST_F(blocking_loss, who_works_is_told_that_the_client_is_closed) {
    told cause;
    auto last = std::make_unique<blocking_mutex>(*redis, "other");
    const hold h = last->acquire();
    const lost_callback calls{h, cause.listener()};
    const std::stop_token token = h.stop_token();
    last.reset();
    redis.reset();
    EXPECT_TRUE(token.stop_requested());
    EXPECT_EQ(cause.why(), errc::client_closed);
    EXPECT_TRUE(h.stop_token().stop_requested());
}

TEST_F(blocking_loss, a_drain_stops_the_work_and_leaves_the_lock) {
    hold h = m.acquire();
    const std::stop_token token = h.stop_token();
    auto closed = std::async(std::launch::async, [&] { redis->shutdown({.drain = 60s}); });
    EXPECT_TRUE(work_is_stopped(token));
    EXPECT_TRUE(h.owns_lock());
    m.unlock(h);
    EXPECT_EQ(closed.wait_for(patience), std::future_status::ready);
}

TEST_F(blocking_loss, a_thread_that_locked_has_a_token) {
    blocking_mutex lockable{*redis, "lock", {}, short_lease};
    EXPECT_TRUE(lockable.stop_token().stop_requested()) << "it has not locked";
    lockable.lock();
    const std::stop_token first = lockable.stop_token();
    const std::stop_token none =
        std::async(std::launch::async, [&] { return lockable.stop_token(); }).get();
    EXPECT_TRUE(none.stop_requested()) << "another thread has not";
    EXPECT_FALSE(first.stop_requested());
    lockable.unlock();
    lockable.lock();
    const std::stop_token second = lockable.stop_token(1s);
    take_away();
    EXPECT_TRUE(work_is_stopped(second));
    lockable.unlock();
    EXPECT_EQ(lockable.unlock_error(), errc::lock_lost);
    close();
    EXPECT_FALSE(first.stop_requested());
}

TEST_F(blocking_loss, a_hold_of_several_locks_is_watched_too) {
    const mutex one{redis->async(), "lock"};
    const mutex two{redis->async(), "two"};
    blocking_mutex both{*redis, multi_lock{one, two}};
    told cause;
    const hold h = both.acquire(short_lease);
    const lost_callback calls{h, cause.listener()};
    const std::stop_token token = h.stop_token();
    take_away();
    EXPECT_TRUE(work_is_stopped(token));
    EXPECT_EQ(cause.why(), errc::lock_lost);
}

}  // namespace
