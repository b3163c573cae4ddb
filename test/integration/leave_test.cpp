// SPDX-License-Identifier: BSL-1.0
// Holds that are given up while their locks stay for a while, on a real server.
#include "support/attempt.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <conch/conch.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using taking = std::function<asio::awaitable<hold>(const client&, lock_options)>;

/// How a lock of this kind is taken, and by whom it is waited for.
struct kind_of_lock {
    const char* name;
    taking take;
    taking wait;

    friend void PrintTo(const kind_of_lock& k, std::ostream* to) { *to << k.name; }
};

template <typename Lock>
asio::awaitable<hold> lock_of(const client& c, lock_options how) {
    co_return co_await Lock{c, "lock"}.async_lock(how);
}

asio::awaitable<hold> read(const client& c, lock_options how) {
    co_return co_await shared_mutex{c, "lock"}.async_lock_shared(how);
}

asio::awaitable<hold> last_permit(const client& c, lock_options how) {
    const semaphore s{c, "lock"};
    co_await s.async_try_set_permits(1);
    co_return co_await s.async_acquire(1, how);
}

asio::awaitable<hold> two_locks(const client& c, lock_options how) {
    const mutex one{c, "{lock}:1"};
    const mutex another{c, "lock"};
    co_return co_await multi_lock{one, another}.async_lock(how);
}

class leave_test : public redis_test, public ::testing::WithParamInterface<kind_of_lock> {
protected:
    asio::awaitable<hold> take(const client& c) {
        co_return co_await GetParam().take(c, {.lease = 20s});
    }
    asio::awaitable<hold> wait(const client& c) {
        co_return co_await GetParam().wait(c, {.wait = 60s});
    }
    /// Of its lease, in ms.
    std::int64_t left() {
        const std::int64_t ttl = raw.pttl("lock");
        if (ttl != -1) {
            return ttl;
        }
        const reply permits = raw.must({"ZRANGE", "{lock}:timeout", "0", "-1", "WITHSCORES"});
        return std::stoll(permits.items.at(1).text) -
               std::stoll(raw.must({"TIME"}).items.at(0).text) * 1000;
    }
    /// The lock is to stay for five minutes.
    void expect_minutes() {
        const std::int64_t ms = left();
        EXPECT_GT(ms, 200'000);
        EXPECT_LE(ms, 301'000) << "the clock was read in whole seconds";
    }
    plain_attempt leave(hold& h) {
        return plain_attempt{[&](auto token) { h.async_leave(300s, std::move(token)); }};
    }
};

TEST_P(leave_test, others_wait_until_then) {
    client one{io, settings()};
    client another{io, settings("another")};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await take(one);
        const time_point before = clock::now();
        co_await h.async_leave(700ms);
        EXPECT_FALSE(h.owns_lock());
        const hold next = co_await wait(another);
        EXPECT_GE(clock::now() - before, 699ms);
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_P(leave_test, neither_the_client_nor_its_end_renews_or_releases_it) {
    std::optional<client> one{std::in_place, io, settings()};
    client another{io, settings("another")};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await take(*one);
        const time_point before = clock::now();
        co_await h.async_leave(700ms);
        co_await one->async_shutdown();
        one.reset();
        const hold next = co_await wait(another);
        EXPECT_GE(clock::now() - before, 699ms);
        EXPECT_TRUE(next.owns_lock());
    });
}

TEST_P(leave_test, a_lost_answer_is_asked_for_again) {
    proxy wire{server.socket_path()};
    client one{io, settings_for(wire.socket_path())};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await take(one);
        co_await h.async_extend(20s);  // from now on the server knows the script
        wire.swallow_replies();
        plain_attempt leaving = leave(h);
        const bool prolonged = co_await when([&] { return left() > 200'000; });
        EXPECT_TRUE(prolonged);
        EXPECT_FALSE(leaving.done());
        wire.cut();
        const bool done = co_await when([&] { return leaving.done(); });
        EXPECT_TRUE(done);
        EXPECT_FALSE(leaving.ec()) << leaving.ec().message();
        expect_minutes();
    });
}

TEST_P(leave_test, so_is_what_was_lost_on_its_way) {
    proxy wire{server.socket_path()};
    client one{io, settings_for(wire.socket_path())};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await take(one);
        wire.swallow_requests();
        const std::uint64_t before = one.stats().bytes_sent;
        plain_attempt leaving = leave(h);
        const bool sent = co_await when([&] { return one.stats().bytes_sent > before; });
        EXPECT_TRUE(sent);
        wire.cut();
        const bool done = co_await when([&] { return leaving.done(); });
        EXPECT_TRUE(done);
        EXPECT_FALSE(leaving.ec()) << leaving.ec().message();
        expect_minutes();
    });
}

INSTANTIATE_TEST_SUITE_P(
    kinds, leave_test,
    ::testing::Values(kind_of_lock{"mutex", lock_of<mutex>, lock_of<mutex>},
                      kind_of_lock{"token_mutex", lock_of<token_mutex>, lock_of<token_mutex>},
                      kind_of_lock{"fair_mutex", lock_of<fair_mutex>, lock_of<fair_mutex>},
                      kind_of_lock{"writer", lock_of<shared_mutex>, read},
                      kind_of_lock{"reader", read, lock_of<shared_mutex>},
                      kind_of_lock{"semaphore", last_permit, last_permit},
                      kind_of_lock{"multi_lock", two_locks, two_locks}),
    [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
