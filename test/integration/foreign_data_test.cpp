// SPDX-License-Identifier: BSL-1.0
// Data under the name of a lock or a limit that is none: it is an error, at once, and stays as it
// is, whatever is asked of it.
#include "support/command_fixture.hpp"
#include "support/rate_algorithms.hpp"

#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

/// Data, by the commands that make it.
struct data {
    const char* what;
    std::vector<words> made_by;
    bool waited_for = false;  ///< it may be a lock of others, which is never taken from them
};

const std::string& owner = owner_of_redisson;
const words in_an_hour{"PEXPIRE", "cart:9", "3600000"};

const std::vector<data> no_mutexes{
    {"a text", {{"SET", "cart:9", "2 pieces"}}},
    {"a list", {{"RPUSH", "cart:9", "2"}}},
    {"a field with a text", {{"HSET", "cart:9", "sku", "2 pieces"}}},
    {"the same for an hour", {{"HSET", "cart:9", "sku", "2 pieces"}, in_an_hour}},
    {"a field with a number", {{"HSET", "cart:9", "sku:17", "2"}}},
    {"a field with nothing", {{"HSET", "cart:9", owner, ""}, in_an_hour}},
    {"a field with zero", {{"HSET", "cart:9", owner, "0"}, in_an_hour}},
    {"a field with less", {{"HSET", "cart:9", owner, "-1"}, in_an_hour}},
    {"a field with a fraction", {{"HSET", "cart:9", owner, "1.5"}, in_an_hour}},
    {"two fields", {{"HSET", "cart:9", "sku", "2", "price", "3"}}},
    {"two owners", {{"HSET", "cart:9", owner, "1", owner + "1", "1"}, in_an_hour}},
    {"a lock for reading of Redisson",
     {{"HSET", "cart:9", "mode", "read", owner, "1"}, in_an_hour}},
};

const std::vector<data> no_token_mutexes{
    {"a text", {{"SET", "cart:9", "2 pieces"}}, true},
    {"a number", {{"SET", "cart:9", "2"}}, true},
    {"nearly an owner", {{"SET", "cart:9", "5c1e0a8e-0000-4000-8000:1"}}, true},
    {"a long text", {{"SET", "cart:9", std::string(5000, 'x'), "PX", "3600000"}}},
    {"a hash", {{"HSET", "cart:9", owner, "1"}, in_an_hour}},
    {"a list", {{"RPUSH", "cart:9", "2"}}},
};

class foreign_data_test : public command_fixture {
protected:
    void make(const data& d) {
        raw.must({"FLUSHALL"});
        for (const words& w : d.made_by) {
            raw.must(w);
        }
    }
    std::string bytes() { return raw.must({"DUMP", "cart:9"}).text; }

    void refused_untouched(const std::vector<data>& all, bool plain);
};

void foreign_data_test::refused_untouched(const std::vector<data>& all, bool plain) {
    client c{io, settings()};
    const mutex hash{c, "cart:9"};
    const token_mutex text{c, "cart:9"};
    const mutex& m = plain ? text : hash;
    for (const data& d : all) {
        SCOPED_TRACE(d.what);
        make(d);
        const std::string before = bytes();
        const bool endless = raw.pttl("cart:9") == -1;
        run([&]() -> asio::awaitable<void> {
            const auto [lock_error, h] = co_await m.async_lock({.wait = 100ms}, as_result);
            EXPECT_EQ(lock_error, d.waited_for ? errc::timed_out : errc::wrong_type);
            const auto [status_error, s] = co_await m.async_status(as_result);
            EXPECT_EQ(status_error, errc::wrong_type);
            const auto [force_error, done] = co_await m.async_force_unlock(as_result);
            EXPECT_EQ(force_error, errc::wrong_type);
            EXPECT_FALSE(done);
        });
        EXPECT_EQ(bytes(), before);
        EXPECT_EQ(raw.pttl("cart:9") == -1, endless);
    }
}

TEST_F(foreign_data_test, is_no_mutex) { refused_untouched(no_mutexes, false); }

TEST_F(foreign_data_test, is_no_token_mutex) { refused_untouched(no_token_mutexes, true); }

TEST_F(foreign_data_test, is_not_released_by_force) {
    for (const data& d : no_mutexes) {
        SCOPED_TRACE(d.what);
        make(d);
        EXPECT_EQ(to_end({"release", "--force", "cart:9"}).status, 69);
        EXPECT_TRUE(raw.exists("cart:9"));
    }
    for (const data& d : no_token_mutexes) {
        SCOPED_TRACE(d.what);
        make(d);
        EXPECT_EQ(to_end({"release", "--force", "--plain", "cart:9"}).status, 69);
        EXPECT_TRUE(raw.exists("cart:9"));
    }
}

TEST_F(foreign_data_test, a_lock_whose_ttl_somebody_took_away_stays_a_lock) {
    const std::vector<data> locks{{"a mutex", {{"HSET", "cart:9", owner, "2"}}},
                                  {"a token_mutex", {{"SET", "cart:9", owner}}}};
    client c{io, settings()};
    const mutex hash{c, "cart:9"};
    const token_mutex text{c, "cart:9"};
    for (const mutex* m : {&hash, static_cast<const mutex*>(&text)}) {
        make(m == &hash ? locks[0] : locks[1]);
        run([&]() -> asio::awaitable<void> {
            const auto [lock_error, h] = co_await m->async_lock({.wait = 50ms}, as_result);
            EXPECT_EQ(lock_error, errc::timed_out);
            const lock_status s = co_await m->async_status();
            EXPECT_EQ(s.holder, owner);
            EXPECT_FALSE(s.ttl.has_value());
            const bool done = co_await m->async_force_unlock();
            EXPECT_TRUE(done);
        });
        EXPECT_FALSE(raw.exists("cart:9"));
    }
}

// A number with a TTL is taken for a counter.
TEST_F(foreign_data_test, is_no_rate_limit) {
    const std::vector<data> all{
        {"words", {{"SET", "cart:9", "two pieces"}}},
        {"a number", {{"SET", "cart:9", "123456"}}},
        {"a small number", {{"SET", "cart:9", "0"}}},
        {"a ranking", {{"ZADD", "cart:9", "2", "sku:17", "17", "17"}}},
        {"one with a nameless", {{"ZADD", "cart:9", "2", "", "17", "17"}}},
        {"one with it alone", {{"ZADD", "cart:9", "2", ""}}},
        {"one with it and words", {{"ZADD", "cart:9", "2", "", "17", "seventeen"}}},
    };
    client c{io, settings()};
    for (const data& d : all) {
        SCOPED_TRACE(d.what);
        make(d);
        const std::string before = bytes();
        for (const rate_algorithm kind : rate_algorithms) {
            const rate_limiter limit{c, "cart:9", {5, 1h}, kind};
            run([&]() -> asio::awaitable<void> {
                const auto [ec, v] = co_await limit.async_try_acquire(1, as_result);
                EXPECT_EQ(ec, errc::wrong_type);
            });
        }
        EXPECT_EQ(bytes(), before);
        EXPECT_EQ(raw.pttl("cart:9"), -1);
    }
}

}  // namespace
