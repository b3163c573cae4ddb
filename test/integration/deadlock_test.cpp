// SPDX-License-Identifier: BSL-1.0
// Waits that would never end, of clients of a real server.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class deadlock_test : public redis_test {
protected:
    config looking(const std::string& service) {
        config c = settings();
        c.deadlock_detection = true;
        c.service = service;
        c.least_log_level = log_level::warning;
        c.log = [to = said](log_level, std::string_view line) { to->emplace_back(line); };
        return c;
    }
    static lock_options of(const owner& o) { return {.owner = &o}; }
    template <typename Mutex>
    attempt<hold> waits(const Mutex& m, const owner& o) {
        return attempt<hold>{[&](auto&& token) { m.async_lock(of(o), std::move(token)); }};
    }
    std::size_t records() { return raw.must({"KEYS", "conch_wait:*"}).items.size(); }

    /// Two owners of two clients, each of which waits for what the other holds.
    template <typename Mutex>
    void two_wait_for_each_other() {
        run([this]() -> asio::awaitable<void> {
            const Mutex a{one, "a"};
            const Mutex b{one, "b"};
            const Mutex a_of_two{two, "a"};
            const Mutex b_of_two{two, "b"};
            hold held_a = co_await a.async_lock(of(first));
            hold held_b = co_await b_of_two.async_lock(of(second));
            attempt<hold> older = waits(b, first);
            const bool told = co_await when([&] { return records() == 1; });
            EXPECT_TRUE(told);
            const time_point began = clock::now();
            attempt<hold> younger = waits(a_of_two, second);
            const bool ended = co_await when([&] { return younger.done() || older.done(); });
            EXPECT_TRUE(ended);
            EXPECT_EQ(younger.ec(), errc::deadlock) << younger.ec().message();
            EXPECT_FALSE(older.done());
            const duration took = clock::now() - began;
            EXPECT_LE(took, 2 * config{}.max_poll_interval + 3s) << "a machine may stand still";
            held_b.release();
            const bool went_on = co_await when([&] { return older.done(); });
            EXPECT_TRUE(went_on);
            EXPECT_FALSE(older.ec()) << older.ec().message();
            EXPECT_TRUE(held_a.owns_lock());
        });
        ASSERT_EQ(said->size(), 1u);
        const std::string& line = said->front();
        EXPECT_TRUE(line.starts_with("deadlock: \"a\" is held by conch:orders:")) << line;
        EXPECT_NE(line.find(", which waits for \"b\", held by conch:bills:"), line.npos) << line;
        EXPECT_TRUE(line.ends_with(", which waits for \"a\"")) << line;
        EXPECT_EQ("deadlock: " + two.last_deadlock(), line);
        EXPECT_EQ(one.last_deadlock(), "");
    }

    owner first{}, second{}, third{};
    /// The clients end with the context.
    std::shared_ptr<std::vector<std::string>> said = std::make_shared<std::vector<std::string>>();
    client one{io, looking("orders")};
    client two{io, looking("bills")};
};

TEST_F(deadlock_test, is_told_to_one_of_two_clients) {
    two_wait_for_each_other<mutex>();
    EXPECT_EQ(two.stats().deadlocks, 1u);
    EXPECT_EQ(one.stats().deadlocks, 0u);
    EXPECT_TRUE(run_until(io, [&] { return records() == 0; })) << "nobody waits any more";
}

TEST_F(deadlock_test, of_plain_locks_is_told) { two_wait_for_each_other<token_mutex>(); }

TEST_F(deadlock_test, of_fair_locks_is_told) { two_wait_for_each_other<fair_mutex>(); }

TEST_F(deadlock_test, of_writers_is_told) { two_wait_for_each_other<shared_mutex>(); }

TEST_F(deadlock_test, of_a_writer_and_readers_of_three_clients_is_told_to_one) {
    client three{io, looking("mails")};
    run([&]() -> asio::awaitable<void> {
        const shared_mutex r{one, "r"};
        const shared_mutex r_of_two{two, "r"};
        const mutex a{one, "a"};
        const mutex a_of_three{three, "a"};
        const mutex b_of_three{three, "b"};
        const mutex b{two, "b"};
        const hold reads = co_await r.async_lock_shared(of(first));
        const hold held_a = co_await a_of_three.async_lock(of(third));
        const hold held_b = co_await b.async_lock(of(second));
        attempt<hold> reader = waits(a, first);
        attempt<hold> writer = waits(r_of_two, second);
        attempt<hold> last = waits(b_of_three, third);
        const auto ended = [&] {
            return reader.completions() + writer.completions() + last.completions();
        };
        const bool told = co_await when([&] { return ended() > 0; });
        EXPECT_TRUE(told);
        co_await pass(2s);
        EXPECT_EQ(ended(), 1) << "one victim is enough";
        EXPECT_EQ(said->size(), 1u);
        EXPECT_TRUE(reads.owns_lock());
    });
}

TEST_F(deadlock_test, within_one_client_is_told_at_once) {
    run([this]() -> asio::awaitable<void> {
        const mutex a{one, "a"};
        const mutex b{one, "b"};
        const hold held_a = co_await a.async_lock(of(first));
        const hold held_b = co_await b.async_lock(of(second));
        attempt<hold> older = waits(b, first);
        const auto [ec, h] = co_await a.async_lock(of(second), as_result);
        EXPECT_EQ(ec, errc::deadlock);
        EXPECT_FALSE(h);
        EXPECT_FALSE(older.done());
    });
}

TEST_F(deadlock_test, is_not_looked_for_by_default) {
    client off{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex a{off, "a"};
        const mutex b{two, "b"};
        const mutex b_of_off{off, "b"};
        const mutex a_of_two{two, "a"};
        const hold held_a = co_await a.async_lock(of(first));
        const hold held_b = co_await b.async_lock(of(second));
        attempt<hold> here = waits(b_of_off, first);
        attempt<hold> there = waits(a_of_two, second);
        const bool told = co_await when([&] { return records() == 1; });
        EXPECT_TRUE(told) << "by the one that looks";
        co_await pass(3s);
        EXPECT_FALSE(here.done() || there.done()) << "nothing is known of who does not tell";
        EXPECT_EQ(records(), 1u);
    });
}

}  // namespace
