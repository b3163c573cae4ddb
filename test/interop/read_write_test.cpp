// SPDX-License-Identifier: BSL-1.0
// A read-write lock that both sides share.
#include "interop_test.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

class redisson_read_write : public interop_test {
protected:
    hold acquired(const mutex& side) {
        return side.async_lock({.lease = long_lease}, asio::use_future).get();
    }
    hold tried(const mutex& side) { return side.async_try_lock({}, asio::use_future).get(); }
    void release(hold& h) { h.async_unlock(asio::use_future).get(); }
    bool java_gets(const std::string& lock) {
        return java("a", "tryLock", lock).starts_with("true");
    }

    bool somebody_listens() {
        return eventually([&] { return raw.subscribers("redisson_rwlock:{" + name + "}") == 1; });
    }

    const std::string name = fresh();
    const std::string read = "read:" + name;
    const std::string write = "write:" + name;
    const shared_mutex m{ours.async(), name};
};

TEST_F(redisson_read_write, readers_of_both_hold_it_together) {
    java("a", "lock", read);
    hold h = tried(m.reader());
    EXPECT_TRUE(h);
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", read);
    EXPECT_FALSE(java_gets(write));
    EXPECT_TRUE(java_gets(read));
    java("a", "unlock", read);
    release(h);
    EXPECT_TRUE(java_gets(write));
    java("a", "unlock", write);
}

TEST_F(redisson_read_write, a_writer_of_one_excludes_all_of_the_other) {
    hold h = acquired(m.writer());
    EXPECT_FALSE(java_gets(read));
    EXPECT_FALSE(java_gets(write));
    release(h);
    java("a", "lock", write);
    EXPECT_FALSE(tried(m.reader()));
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", write);
    EXPECT_TRUE(tried(m.writer()));
}

TEST_F(redisson_read_write, each_side_wakes_the_other) {
    hold h = acquired(m.writer());
    std::future<answer> waiting = start_java("a", "lock", read);
    EXPECT_TRUE(somebody_listens());
    release(h);
    value_of(waiting);
    std::future<hold> ours_waits = m.async_lock({.wait = soon}, asio::use_future);
    EXPECT_TRUE(somebody_listens());
    EXPECT_TRUE(java_gets(read)) << "reentrant";
    java("a", "unlock", read);
    java("a", "unlock", read);
    h = ours_waits.get();
    EXPECT_TRUE(h);
    release(h);
}

TEST_F(redisson_read_write, a_reader_of_java_that_goes_leaves_those_of_conch_their_time) {
    hold h = acquired(m.reader());
    java("a", "lock", read, std::chrono::milliseconds{500});
    java("a", "unlock", read);
    EXPECT_TRUE(h.owns_lock());
    EXPECT_FALSE(java_gets(write));
    release(h);
}

TEST_F(redisson_read_write, a_reader_of_conch_that_goes_leaves_those_of_java_their_time) {
    hold h = acquired(m.reader());
    java("a", "lock", read);
    release(h);
    EXPECT_FALSE(tried(m.writer()));
    java("a", "unlock", read);
    EXPECT_TRUE(tried(m.writer()));
}

}  // namespace
