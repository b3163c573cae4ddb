// SPDX-License-Identifier: BSL-1.0
// Read-write locks in a cluster: all keys of one are in one slot, whatever its name.
#include "deployment/cluster_test.hpp"
#include "support/redis_test.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class cluster_shared_mutex : public cluster_test {
protected:
    /// For each shard a name without and one with a hash tag.
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cluster_group::master_count; ++i) {
            out.push_back(group.name_in(i, "lock"));
            out.push_back("{" + out.back() + "}:orders");
        }
        return out;
    }
    /// Somebody listens for releases of the lock.
    asio::awaitable<void> is_listened_to(const std::string& name) const {
        const std::string channel =
            "redisson_rwlock:" + (name.starts_with('{') ? name : "{" + name + "}");
        raw_client owner = group.raw_at(name);
        const char* const how = server_has_shard_messages() ? "SHARDNUMSUB" : "NUMSUB";
        const bool heard = co_await when(
            [&] { return owner.must({"PUBSUB", how, channel}).items.at(1).number == 1; },
            long_patience);
        EXPECT_TRUE(heard) << "nobody listens for " << name;
    }
};

TEST_F(cluster_shared_mutex, slow_the_last_reader_wakes_a_writer_by_its_message) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            const shared_mutex of_a{a, name};
            const shared_mutex of_b{b, name};
            hold first = co_await of_a.async_lock_shared({.lease = 60s});
            hold last = co_await of_a.async_lock_shared({.lease = 60s});
            lock_attempt writer = start_lock(of_b.writer(), {.lease = 60s});
            co_await is_listened_to(name);
            co_await first.async_unlock();
            EXPECT_FALSE(writer.done()) << name;
            const std::uint64_t wakes_before = b.stats().wakes_by_message;
            co_await last.async_unlock();
            co_await done(writer, "woken");
            EXPECT_EQ(b.stats().wakes_by_message, wakes_before + 1);
            const hold none = co_await of_a.async_try_lock_shared();
            EXPECT_FALSE(none) << name;
            co_await writer.value().async_unlock();
        }
    });
}

TEST_F(cluster_shared_mutex, slow_a_writer_that_becomes_a_reader_wakes_readers_by_its_message) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            const shared_mutex of_a{a, name};
            const shared_mutex of_b{b, name};
            hold first = co_await of_a.async_lock({.lease = 60s});
            lock_attempt reader = start_lock(of_b.reader(), {.lease = 60s});
            co_await is_listened_to(name);
            const std::uint64_t wakes_before = b.stats().wakes_by_message;
            co_await first.async_downgrade();
            co_await done(reader, "woken");
            EXPECT_EQ(b.stats().wakes_by_message, wakes_before + 1);
            const hold none = co_await of_b.async_try_lock();
            EXPECT_FALSE(none) << name;
            co_await first.async_unlock();
            co_await reader.value().async_unlock();
            EXPECT_FALSE(group.raw_at(name).exists(name)) << name;
        }
    });
}

TEST_F(cluster_shared_mutex, slow_a_writer_removes_readers_that_crashed) {
    run([&]() -> asio::awaitable<void> {
        for (const std::string& name : names()) {
            raw_client raw = group.raw_at(name);
            raw.must({"HSET", name, "mode", "read", owner_of_redisson, "1"});
            raw.must({"PEXPIRE", name, "60000"});
            const shared_mutex of_b{b, name};
            hold w = co_await of_b.async_lock({.wait = 10s});
            EXPECT_TRUE(w.owns_lock()) << name;
            co_await w.async_unlock();
            EXPECT_FALSE(raw.exists(name)) << name;
        }
    });
}

}  // namespace
