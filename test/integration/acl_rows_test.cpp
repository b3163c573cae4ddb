// SPDX-License-Identifier: BSL-1.0
// What a user with fewer rights still gets, as the table of the page on security says.
#include "integration/acl_fixture.hpp"
#include "support/attempt.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;

/// A row of that page's table: what is missing, and what goes on nevertheless.
struct row {
    const char* what;
    rights_list missing;
    bool fences = true;
    bool status = true;
    bool plain = true;
    bool shared = true;
    bool writers = true;  ///< past readers
    bool windows = true;
    bool logs = true;
    bool times = true;  ///< of `gcra`
    bool counts = true;
};

void PrintTo(const row& r, std::ostream* out) { *out << r.what; }

std::vector<row> rows() {
    std::vector<row> all;
    all.push_back({.what = "waking",
                   .missing = {"+publish", "+subscribe", "+unsubscribe",
                               "&redisson_lock__channel:*", "&conch_token_mutex_channel:*",
                               "&redisson_sc:*", "&redisson_countdownlatch__channel__*"}});
    all.push_back({.what = "fencing tokens",
                   .missing = {"+get", "+set", "+time"},
                   .fences = false,
                   .plain = false,
                   .shared = false,
                   .windows = false,
                   .logs = false,
                   .times = false,
                   .counts = false});
    all.push_back(
        {.what = "status", .missing = {"+hlen", "+hgetall"}, .status = false, .shared = false});
    all.push_back(
        {.what = "plain locks", .missing = {"+del", "+strlen"}, .plain = false, .shared = false});
    all.push_back({.what = "read-write locks", .missing = {"+hget", "+hkeys"}, .shared = false});
    all.push_back({.what = "replicas", .missing = {"+wait"}});
    all.push_back({.what = "counters", .missing = {"+incrby"}, .windows = false, .counts = false});
    all.push_back({.what = "logs",
                   .missing = {"+exists", "+unlink", "+zadd", "+zscore", "+zrange",
                               "+zrangebyscore", "+zremrangebyscore"},
                   .writers = false,
                   .logs = false});
    all.push_back({.what = "loading", .missing = {"+script|load"}});
    all.push_back({.what = "databases", .missing = {"+select"}});
    all.push_back({.what = "old connections", .missing = {"+info", "+client|kill"}});
    return all;
}

class acl_row_test : public acl_test, public ::testing::WithParamInterface<row> {
protected:
    acl_row_test() {
        std::erase_if(rights, [](const std::string& right) {
            const rights_list& missing = GetParam().missing;
            return std::find(missing.begin(), missing.end(), right) != missing.end();
        });
        give(rights);
    }
    config of_poller(const std::string& client_name) const {
        config c = settings(client_name);
        c.max_poll_interval = 20ms;
        return c;
    }
    static error_code expected(bool works) {
        return works ? error_code{} : make_error_code(errc::permission_denied);
    }
};

TEST_P(acl_row_test, locks_are_handed_on) {
    client one{io, of_poller("conch")};
    client other{io, of_poller("other")};
    run([&]() -> asio::awaitable<void> {
        const mutex of_one{one, "lock"};
        const mutex of_other{other, "lock"};
        hold h = co_await of_one.async_lock();
        const hold tried = co_await of_other.async_try_lock();
        EXPECT_FALSE(tried);
        task_group group{io.get_executor()};
        const auto waiter = [&]() -> asio::awaitable<void> {
            hold mine = co_await of_other.async_lock();
            co_await mine.async_unlock();
        };
        group.spawn(waiter());
        co_await when([&] { return other.stats().wakes_by_poll > 0; });
        co_await h.async_extend(40s);
        co_await h.async_unlock();
        co_await group.join();
    });
}

TEST_P(acl_row_test, the_rest_is_granted_or_refused_as_the_table_says) {
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const row& r = GetParam();
        const auto [fence_error, fenced] =
            co_await mutex{c, "fenced", {.fenced = true}}.async_lock({}, as_result);
        EXPECT_EQ(fence_error, expected(r.fences));
        const hold held = co_await mutex{c, "lock"}.async_lock();
        const auto [due_error, due] =
            co_await once{c, "lock", {.period = 1h}}.async_due(held, clock::now(), as_result);
        EXPECT_EQ(due_error, expected(r.fences));
        const auto [status_error, s] = co_await mutex{c, "lock"}.async_status(as_result);
        EXPECT_EQ(status_error, expected(r.status));
        auto [plain_error, plain] = co_await token_mutex{c, "plain"}.async_lock({}, as_result);
        if (!plain_error) {
            const auto [unlock_error] = co_await plain.async_unlock(as_result);
            plain_error = unlock_error;
        }
        EXPECT_EQ(plain_error, expected(r.plain));
        const rate_limiter window{c, "window", {5, 1h}, rate_algorithm::fixed_window};
        for (int i = 0; i < 2; ++i) {
            const auto [ec, v] = co_await window.async_try_acquire(1, as_result);
            // The first one begins the window.
            const bool counts_on = i > 0 || !r.plain;
            EXPECT_EQ(ec, expected(r.windows || !counts_on));
        }
        const rate_limiter log{c, "log", {5, 1h}, rate_algorithm::sliding_log};
        const auto [log_error, v] = co_await log.async_try_acquire(1, as_result);
        EXPECT_EQ(log_error, expected(r.logs));
        const rate_limiter paced{c, "paced", {5, 1h}, rate_algorithm::gcra};
        const auto [pace_error, w] = co_await paced.async_try_acquire(1, as_result);
        EXPECT_EQ(pace_error, expected(r.times));
        const counting_semaphore permits{c, "permits"};
        const auto [set_error] = co_await permits.async_set(1, as_result);
        EXPECT_EQ(set_error, expected(r.counts || r.plain));
        const auto [count_error] = co_await permits.async_acquire(1, {.wait = 0s}, as_result);
        EXPECT_EQ(count_error, expected(r.counts));
    });
}

TEST_P(acl_row_test, so_are_read_write_locks) {
    client one{io, settings()};
    client other{io, settings("other")};
    client writing{io, of_poller("writing")};
    run([&]() -> asio::awaitable<void> {
        hold holds[2];
        error_code error;
        for (std::size_t i = 0; i < 2 && !error; ++i) {
            const shared_mutex m{i == 0 ? one : other, "shared"};
            auto [ec, h] = co_await m.async_lock_shared({}, as_result);
            error = ec;
            holds[i] = std::move(h);
        }
        if (!error) {
            const shared_mutex m{writing, "shared"};
            const auto [ec, none] = co_await m.async_lock({.wait = 300ms}, as_result);
            EXPECT_EQ(ec, GetParam().writers ? make_error_code(errc::timed_out) : expected(false));
        }
        for (std::size_t i = 0; i < 2 && !error; ++i) {
            const auto [ec] = co_await holds[i].async_unlock(as_result);
            error = ec;
        }
        EXPECT_EQ(error, expected(GetParam().shared));
    });
}

/// Without the first row's rights, of all kinds.
class acl_unwoken_test : public acl_test {
protected:
    acl_unwoken_test() {
        std::erase_if(rights, [](const std::string& right) {
            return right == "+publish" || right == "+subscribe" || right == "+unsubscribe" ||
                   right.starts_with('&');
        });
        give(rights);
    }
    config of_poller(const std::string& client_name) const {
        config c = settings(client_name);
        c.max_poll_interval = 20ms;
        return c;
    }
    template <typename Value>
    asio::awaitable<void> polls_for(attempt<Value>& waiting, const char* what) const {
        const std::uint64_t before = other.stats().wakes_by_poll;
        const bool asked = co_await when([&] { return other.stats().wakes_by_poll > before + 2; });
        EXPECT_TRUE(asked) << what << " is not asked for again";
        EXPECT_FALSE(waiting.done()) << what << ": " << waiting.ec().message();
    }
    template <typename Value>
    asio::awaitable<void> comes(attempt<Value>& waiting, const char* what) const {
        const bool ended = co_await when([&] { return waiting.done(); });
        EXPECT_TRUE(ended) << what;
        EXPECT_FALSE(waiting.ec()) << what << ": " << waiting.ec().message();
    }
    /// From one client to the other.
    asio::awaitable<void> pass(mutex of_one, mutex of_other, const char* what) const {
        hold h = co_await of_one.async_lock();
        lock_attempt waiting = start_lock(of_other);
        co_await polls_for(waiting, what);
        co_await h.async_unlock();
        co_await comes(waiting, what);
        co_await waiting.value().async_unlock();
    }

    client one{io, of_poller("one")};
    client other{io, of_poller("other")};
};

TEST_F(acl_unwoken_test, who_waits_for_any_kind_asks_again_and_gets_it) {
    run([&]() -> asio::awaitable<void> {
        const semaphore leased{one, "leased"};
        co_await leased.async_set_permits(2);
        co_await pass(mutex{one, "lock"}, mutex{other, "lock"}, "a mutex");
        co_await pass(fair_mutex{one, "fair"}, fair_mutex{other, "fair"}, "a fair lock");
        const shared_mutex rw{one, "rw"};
        const shared_mutex rw_of_other{other, "rw"};
        co_await pass(rw.writer(), rw_of_other.reader(), "a reader");
        co_await pass(rw.reader(), rw_of_other.writer(), "a writer");
        co_await pass(leased.permits(1), semaphore{other, "leased"}.permits(2), "permits");
        co_await pass(token_mutex{one, "plain"}, token_mutex{other, "plain"}, "a plain lock");

        const counting_semaphore counted{one, "counted"};
        const counting_semaphore of_other{other, "counted"};
        plain_attempt waiting{[&](auto token) { of_other.async_acquire(2, std::move(token)); }};
        co_await polls_for(waiting, "a counting semaphore");
        co_await counted.async_release(2);
        co_await comes(waiting, "a counting semaphore");

        const latch gate{one, "gate"};
        co_await gate.async_try_set_count(1);
        const latch gate_of_other{other, "gate"};
        plain_attempt opened{[&](auto token) { gate_of_other.async_wait(std::move(token)); }};
        co_await polls_for(opened, "a latch");
        co_await gate.async_count_down();
        co_await comes(opened, "a latch");
    });
    EXPECT_EQ(other.stats().wakes_by_message, 0u);
}

INSTANTIATE_TEST_SUITE_P(rows, acl_row_test, ::testing::ValuesIn(rows()));

}  // namespace
