// SPDX-License-Identifier: BSL-1.0
// What a quorum's turn finds that comes late, or could not be asked for.
#include "integration/quorum_fixture.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdlib>

namespace {

thread_local bool no_memory_for_handlers = false;
thread_local int refused_allocations = 0;

}  // namespace

// Asio's for a handler, where its own allocator is the default one.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    void* p = nullptr;
    if (no_memory_for_handlers) {
        ++refused_allocations;
    } else if (::posix_memalign(&p, std::max(alignment, sizeof(void*)), size) != 0) {
        p = nullptr;
    }
    return p;
}

namespace {

using namespace conch;
using namespace conch::test;

struct quorum_turn_test : quorum_test {
    quorum_turn_test() : quorum_test{3} {}

    config settings_of(std::size_t i) { return settings_for(server(i).redis.socket_path()); }
};

TEST_F(quorum_turn_test, a_release_needs_no_memory) {
    const contender a{io, servers};
    const quorum_mutex m = a.lock("unwoken");
    lock_attempt taken = start_lock(m, {.lease = 1min});
    ASSERT_TRUE(run_until(io, [&] { return taken.done() && count_of("unwoken") == 3; }));
    no_memory_for_handlers = true;
    taken.value().release();
    no_memory_for_handlers = false;
    EXPECT_EQ(refused_allocations, 0);
    EXPECT_TRUE(run_until(io, [&] { return count_of("unwoken") == 0; }));
}

// A majority of its members has lost it by then, and their words come behind.
TEST_F(quorum_turn_test, who_unlocks_what_is_lost_is_told_so_and_who_watches_it_too) {
    asio::io_context others{};
    const auto work = asio::make_work_guard(others);
    const client first{io, settings_of(0)};
    const client second{others, settings_of(1)};
    const client third{others, settings_of(2)};
    const quorum_mutex m{{first, second, third}, "late-word", {.answer_timeout = patience}};
    lock_attempt taken = start_lock(m, {.lease = 3s});
    ASSERT_TRUE(run_until(io, [&] {
        others.poll();
        return taken.done() &&
               first.stats().holds_now + second.stats().holds_now + third.stats().holds_now == 3;
    }));
    bool heard = false;  // what they all have granted
    asio::post(io, [&] { heard = true; });
    ASSERT_TRUE(run_until(io, [&] { return heard; }));
    plain_attempt watch = start_wait_lost(taken.value());
    plain_attempt unlock = start_unlock(taken.value());
    server(1).raw.must({"DEL", "late-word"});
    server(2).raw.must({"DEL", "late-word"});
    ASSERT_TRUE(run_until(
        others, [&] { return second.stats().holds_now == 0 && third.stats().holds_now == 0; }));
    EXPECT_TRUE(run_until(io, [&] { return watch.done() && unlock.done(); }));
    EXPECT_EQ(unlock.ec(), errc::lock_lost);
    EXPECT_EQ(watch.ec(), errc::lock_lost);
}

}  // namespace
