// SPDX-License-Identifier: BSL-1.0
// The user of the ACL that conch needs: no right too few, none too many.
#include "support/attempt.hpp"
#include "support/rate_algorithms.hpp"
#include "support/redis_test.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace {

using namespace conch;
using namespace conch::test;

using rights_list = std::vector<std::string>;

/// The rights of the ACL SETUSER below this comment in the page on security, sorted, without quotes
/// and line ends.
rights_list rights_of_page(const std::string& comment) {
    std::ifstream in{CONCH_PAGES "/security.md"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const std::string begin = "ACL SETUSER conch ";
    const std::size_t at = text.find(begin, text.find("\n# " + comment + '\n'));
    if (at == std::string::npos) {
        return {};
    }
    std::size_t end = text.find('\n', at);
    while (text[end - 1] == '\\') {
        end = text.find('\n', end + 1);
    }
    std::string line = text.substr(at + begin.size(), end - at - begin.size());
    std::erase_if(line, [](char c) { return c == '\'' || c == '\\'; });
    std::istringstream words{line};
    rights_list out{std::istream_iterator<std::string>{words}, {}};
    std::erase_if(out, [](const std::string& w) { return w == "on" || w == ">PASSWORD"; });
    std::sort(out.begin(), out.end());
    return out;
}

rights_list sorted(rights_list l) {
    std::sort(l.begin(), l.end());
    return l;
}

class acl_test : public redis_test {
protected:
    acl_test() { may_refuse = true; }

    void give(const rights_list& given) {
        raw_client::words line{"ACL",   "SETUSER", "conch",
                               "reset", "on",      '>' + std::string{conch_password}};
        line.insert(line.end(), given.begin(), given.end());
        raw.must(line);
        raw.must({"ACL", "LOG", "RESET"});
        raw.must({"SCRIPT", "FLUSH"});
    }

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
    asio::awaitable<void> use_rates(client& c);
    asio::awaitable<void> use_semaphore(client& c, client& other);
    asio::awaitable<void> use_all();

    rights_list rights = conch_rights();
};

constexpr lock_options brief{.wait = 100ms, .lease = 200ms, .renew = false};

asio::awaitable<void> acl_test::use_lock(const mutex& m) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await m.async_status(as_result);
    co_await h.async_extend(300ms, as_result);
    co_await h.async_downgrade(as_result);
    co_await h.async_unlock(as_result);
    co_await m.async_lock(brief, as_result);
    co_await m.async_force_unlock(as_result);
}

asio::awaitable<void> acl_test::contend(const mutex& m, const mutex& other) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await other.async_lock(brief, as_result);
    co_await h.async_unlock(as_result);
}

// Somebody stands in front, and then behind, who is not of conch.
asio::awaitable<void> acl_test::use_line(const mutex& m, const mutex& other) {
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

asio::awaitable<void> acl_test::use_rates(client& c) {
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

asio::awaitable<void> acl_test::use_semaphore(client& c, client& other) {
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

// Each command that conch may send, and each that its scripts may call.
asio::awaitable<void> acl_test::use_all() {
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
    co_await use_rates(c);
    co_await use_semaphore(c, other);
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
    EXPECT_EQ(rights_of_page("with Sentinel also, at each server"), sorted(watched_rights()));
    EXPECT_EQ(rights_of_page("with Sentinel, at each sentinel"), sorted(rights_at_sentinels()));
    rights_list all = rights_of_page("in a cluster also, at each node");
    if (server_has_shard_messages()) {
        const rights_list more = rights_of_page(
            "in a cluster of Redis 7.0 or newer also, for messages within a shard");
        all.insert(all.end(), more.begin(), more.end());
    }
    EXPECT_EQ(sorted(all), sorted(cluster_rights()));
}

TEST_F(acl_test, with_all_of_its_rights_nothing_is_refused) {
    give(rights);
    run([&]() -> asio::awaitable<void> { co_await use_all(); });
    EXPECT_EQ(raw.refused(), std::vector<std::string>{});
}

TEST_F(acl_test, each_right_is_needed) {
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

/// A row of that page's table: what is missing, and what goes on nevertheless.
struct row {
    const char* what;
    rights_list missing;
    bool fences = true;
    bool status = true;
    bool plain = true;
    bool shared = true;
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
    run([&]() -> asio::awaitable<void> {
        hold holds[2];
        error_code error;
        for (std::size_t i = 0; i < 2 && !error; ++i) {
            const shared_mutex m{i == 0 ? one : other, "shared"};
            auto [ec, h] = co_await m.async_lock_shared({}, as_result);
            error = ec;
            holds[i] = std::move(h);
        }
        for (std::size_t i = 0; i < 2 && !error; ++i) {
            const auto [ec] = co_await holds[i].async_unlock(as_result);
            error = ec;
        }
        EXPECT_EQ(error, expected(GetParam().shared));
    });
}

INSTANTIATE_TEST_SUITE_P(rows, acl_row_test, ::testing::ValuesIn(rows()));

}  // namespace
