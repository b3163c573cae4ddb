// SPDX-License-Identifier: BSL-1.0
// What each side sees of the fair locks, readers and writers that the other has.
#include "interop_test.hpp"

#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <regex>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_view_kinds : public interop_test {
protected:
    static constexpr status_options all{.clients = true};

    template <typename Lock>
    static lock_status status(const Lock& m) {
        return m.async_status(all, asio::use_future).get();
    }
    template <typename Lock>
    hold taken(const Lock& m) {
        return m.async_lock(unrenewed(long_lease), asio::use_future).get();
    }
    static void give_back(hold& h) { h.async_unlock(asio::use_future).get(); }
    static void expect_most_of(const std::optional<duration>& left) {
        ASSERT_TRUE(left.has_value());
        EXPECT_LE(*left, long_lease);
        EXPECT_GT(*left, long_lease / 2);
    }
    void expect_java_sees(const std::string& lock, bool held) {
        SCOPED_TRACE(lock);
        EXPECT_EQ(java("a", "isLocked", lock), held ? "true" : "false");
        EXPECT_EQ(java("a", "isHeldByCurrentThread", lock), "false");
        EXPECT_EQ(java("a", "holdCount", lock), "0") << "of the thread that asks";
    }
    /// Of each: Redisson asks for the key, whichever side is meant.
    void expect_java_knows_the_time_of(const std::string& lock) {
        SCOPED_TRACE(lock);
        expect_most_of(std::chrono::milliseconds{std::stoll(java("a", "remainTimeToLive", lock))});
    }

    /// Redisson's fields, which tools read.
    const std::string field = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+";
    const std::string name = fresh();
    const std::string fair = "fair:" + name;
    const std::string read = "read:" + name;
    const std::string write = "write:" + name;
    const fair_mutex m{ours.async(), name};
    const shared_mutex rw{ours.async(), name};
};

TEST_F(redisson_view_kinds, conch_sees_who_has_a_fair_lock_and_who_of_java_stands_in_line) {
    java("a", "lock", fair, long_lease);
    const std::string holder = raw.hgetall(name).begin()->first;
    lock_status s = status(m);
    EXPECT_EQ(s.holder, holder);
    EXPECT_TRUE(std::regex_match(s.holder, std::regex{field})) << s.holder;
    EXPECT_EQ(s.depth, 1u);
    EXPECT_EQ(s.waiting_clients, 0u);
    expect_most_of(s.ttl);
    std::future<answer> next = start_java("b", "lock", fair, long_lease);
    ASSERT_TRUE(eventually(
        [&] { return raw.must({"LLEN", "redisson_lock_queue:{" + name + '}'}).number == 1; }));
    s = status(m);
    EXPECT_EQ(s.holder, holder);
    EXPECT_EQ(s.waiting_clients, 1u);
    java("a", "unlock", fair);
    EXPECT_EQ(value_of(next), "locked");
    s = status(m);
    EXPECT_TRUE(s.locked);
    EXPECT_NE(s.holder, holder) << "the next";
    EXPECT_EQ(s.waiting_clients, 0u);
    java("b", "unlock", fair);
    EXPECT_FALSE(status(m).locked);
}

TEST_F(redisson_view_kinds, java_sees_a_fair_lock_of_conch_and_for_how_long) {
    EXPECT_EQ(java("a", "remainTimeToLive", fair), "-2");
    hold h = taken(m);
    expect_java_sees(fair, true);
    expect_java_knows_the_time_of(fair);
    give_back(h);
    expect_java_sees(fair, false);
    EXPECT_EQ(java("a", "remainTimeToLive", fair), "-2");
}

TEST_F(redisson_view_kinds, conch_sees_a_writer_of_java_and_that_java_waits_for_it) {
    java("a", "lock", write, long_lease);
    lock_status s = status(rw);
    EXPECT_TRUE(s.locked);
    EXPECT_FALSE(s.shared);
    EXPECT_TRUE(std::regex_match(s.holder, std::regex{field + ":write"})) << s.holder;
    EXPECT_EQ(s.depth, 1u);
    EXPECT_EQ(s.waiting_clients, 0u);
    expect_most_of(s.ttl);
    std::future<answer> next = start_java("b", "tryLock", write, soon, long_lease);
    ASSERT_TRUE(eventually([&] { return raw.subscribers("redisson_rwlock:{" + name + '}') == 1; }));
    s = status(rw);
    EXPECT_EQ(s.waiting_clients, 1u);
    EXPECT_FALSE(s.shared);
    java("a", "unlock", write);
    next.wait();  // Redisson's own message may come before it sleeps
}

TEST_F(redisson_view_kinds, conch_sees_readers_of_both_each_by_its_name) {
    java("a", "lock", read, long_lease);
    const std::string of_java = status(rw).holder;
    EXPECT_TRUE(std::regex_match(of_java, std::regex{field})) << of_java;
    hold h = rw.async_lock_shared(unrenewed(long_lease), asio::use_future).get();
    const lock_status s = status(rw);
    EXPECT_TRUE(s.locked);
    EXPECT_TRUE(s.shared);
    EXPECT_EQ(s.depth, 2u) << s.holder;
    EXPECT_NE(s.holder.find(of_java), std::string::npos) << s.holder;
    EXPECT_NE(s.holder.find(ours.id() + ':'), std::string::npos) << s.holder;
    EXPECT_TRUE(std::regex_match(s.holder, std::regex{field + ' ' + field})) << s.holder;
    expect_most_of(s.ttl);
    java("a", "unlock", read);
    EXPECT_EQ(status(rw).depth, 1u);
    EXPECT_TRUE(status(rw).holder.starts_with(ours.id() + ':')) << status(rw).holder;
    give_back(h);
    EXPECT_FALSE(status(rw).locked);
}

TEST_F(redisson_view_kinds, java_sees_readers_and_writers_of_conch_and_for_how_long) {
    EXPECT_EQ(java("a", "remainTimeToLive", read), "-2");
    EXPECT_EQ(java("a", "remainTimeToLive", write), "-2");
    for (const bool writes : {false, true}) {
        SCOPED_TRACE(writes ? "a writer" : "a reader");
        hold h = taken(writes ? rw.writer() : rw.reader());
        expect_java_sees(read, !writes);
        expect_java_sees(write, writes);
        expect_java_knows_the_time_of(read);
        expect_java_knows_the_time_of(write);
        give_back(h);
        expect_java_sees(read, false);
        expect_java_sees(write, false);
    }
    EXPECT_EQ(java("a", "remainTimeToLive", write), "-2");
}

}  // namespace
