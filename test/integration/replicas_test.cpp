// SPDX-License-Identifier: BSL-1.0
// Locks that wait for replicas, at a server that has none; test/deployment has servers with some.
#include "support/redis_test.hpp"
#include "wire/script.hpp"

#include <conch/conch.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class replicas_alone : public redis_test {
protected:
    std::int64_t changes() {
        const std::string info = raw.must({"INFO", "persistence"}).text;
        const std::string label = "rdb_changes_since_last_save:";
        return std::stoll(info.substr(info.find(label) + label.size()));
    }
    std::int64_t in_line() { return raw.must({"LLEN", "redisson_lock_queue:{m}"}).number; }
    client c{io, settings()};
};

constexpr mutex_options one{.replicas = {.at_least = 1, .within = 50ms}};

TEST_F(replicas_alone, end_as_not_replicated_and_leave_nothing) {
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m", one};
        const token_mutex plain{c, "plain", one};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_replicated);
        const auto [ec_of_try, none] = co_await plain.async_try_lock({}, as_result);
        EXPECT_EQ(ec_of_try, errc::not_replicated);
        const bool gone = co_await when([&] { return !raw.exists("m") && !raw.exists("plain"); });
        EXPECT_TRUE(gone);
        EXPECT_EQ(c.stats().compensations, 2u);
    });
}

TEST_F(replicas_alone, who_is_given_a_fair_one_ends_so_and_the_next_in_line_has_it) {
    client asking{io, push_only("asking")};
    client other{io, push_only("other")};
    run([&]() -> asio::awaitable<void> {
        const fair_mutex asks{asking, "m", one};
        const fair_mutex free{other, "m"};
        hold first = co_await free.async_lock();
        std::optional<error_code> ended;
        asks.async_lock([&](error_code ec, hold) { ended = ec; });
        const std::string channel = channel_of("m") + ':' + asking.id() + ":1";
        const bool waits = co_await when([&] { return raw.subscribers(channel) == 1; });
        EXPECT_TRUE(waits);
        hold last;
        free.async_lock([&](error_code, hold h) { last = std::move(h); });
        const bool both_wait = co_await when([&] { return in_line() == 2; });
        EXPECT_TRUE(both_wait);
        EXPECT_FALSE(ended);
        co_await first.async_unlock();
        const bool served = co_await when([&] { return last.owns_lock() && ended; });
        EXPECT_TRUE(served);
        EXPECT_EQ(ended, make_error_code(errc::not_replicated));
        EXPECT_EQ(asking.stats().compensations, 1u);
        EXPECT_EQ(asking.stats().acquisitions, 0u);
        EXPECT_EQ(in_line(), 0);
    });
}

TEST_F(replicas_alone, exclude_locks_of_the_name_that_do_not_ask) {
    run([&]() -> asio::awaitable<void> {
        const mutex asks{c, "m", one};
        const mutex other{c, "m"};
        hold h = co_await other.async_lock();
        hold none = co_await asks.async_try_lock();
        EXPECT_FALSE(none);
        co_await h.async_unlock();
    });
}

TEST_F(replicas_alone, have_a_connection_of_their_own_from_their_first_use_on) {
    run([&]() -> asio::awaitable<void> {
        const mutex asks{c, "m", one};
        const mutex other{c, "other"};
        hold h = co_await other.async_lock();
        EXPECT_EQ(raw.connections("conch").size(), 1u);
        co_await asks.async_lock({}, as_result);
        EXPECT_EQ(raw.connections("conch").size(), 2u);
        co_await c.async_shutdown();
        const bool closed = co_await when([&] { return raw.connections("conch").empty(); });
        EXPECT_TRUE(closed);
    });
}

TEST_F(replicas_alone, log_in_with_what_is_asked_for_at_each_connection) {
    config asking = settings("asking");
    asking.username.clear();
    asking.password.clear();
    int asked = 0;
    asking.credentials = [&]() -> credentials {
        ++asked;
        return {std::string{conch_user}, std::string{conch_password}};
    };
    client own{io, asking};
    run([&]() -> asio::awaitable<void> {
        const mutex asks{own, "m", one};
        const auto [ec, none] = co_await asks.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_replicated) << own.last_server_error();
        EXPECT_EQ(asked, 1);
        const mutex other{own, "other"};
        hold h = co_await other.async_lock();
        EXPECT_EQ(asked, 2);
    });
}

TEST_F(replicas_alone, who_may_not_wait_is_told) {
    may_refuse = true;
    raw.must({"ACL", "SETUSER", std::string{conch_user}, "-wait"});
    run([&]() -> asio::awaitable<void> {
        const mutex asks{c, "m", one};
        const auto [ec, none] = co_await asks.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::permission_denied);
        EXPECT_NE(c.last_server_error().find("wait"), std::string::npos) << c.last_server_error();
        const bool gone = co_await when([&] { return !raw.exists("m"); });
        EXPECT_TRUE(gone);
    });
}

TEST_F(replicas_alone, may_not_take_as_long_as_a_server_may_be_silent) {
    EXPECT_NO_THROW((mutex{c, "m", {.replicas = {.at_least = 1, .within = 1s}}}));
    EXPECT_THROW((mutex{c, "m", {.replicas = {.at_least = 1, .within = 1001ms}}}),
                 std::invalid_argument);
    EXPECT_THROW((token_mutex{c, "m", {.replicas = {.at_least = 1, .within = 1001ms}}}),
                 std::invalid_argument);
}

// WAIT waits for what its connection wrote: an acquire that is repeated on another one must write.
TEST_F(replicas_alone, an_acquire_that_is_repeated_writes_again) {
    using wire::script_id;
    const auto text = [](script_id id) { return std::string{wire::get_script(id).body}; };
    const std::vector<raw_client::words> acquires{
        {"EVAL", text(script_id::acquire), "1", "m", "c:1", "60000", "0"},
        {"EVAL", text(script_id::value_acquire), "1", "m", "c:1", "60000", "0"},
        {"EVAL", text(script_id::fair_acquire), "4", "m", "redisson_lock_queue:{m}",
         "redisson_lock_timeout:{m}", "conch_fair_lease:{m}", "c:1", "60000", "0", "3000", "1"}};
    for (const raw_client::words& line : acquires) {
        raw.must({"FLUSHALL"});
        raw.must(line);
        for (const char* ttl : {"60000", "120000", "30000"}) {
            raw.must({"PEXPIRE", "m", ttl});
            const std::int64_t before = changes();
            raw.must(line);
            EXPECT_EQ(changes(), before + 1) << ttl;
        }
    }
}

}  // namespace
