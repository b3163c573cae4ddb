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

TEST_F(quorum_turn_test, a_release_for_which_there_was_no_turn_comes_with_the_next_one) {
    const contender a{io, servers};
    const quorum_mutex m = a.lock("unwoken");
    lock_attempt taken = start_lock(m, {.lease = 1min});
    ASSERT_TRUE(run_until(io, [&] { return taken.done() && count_of("unwoken") == 3; }));
    no_memory_for_handlers = true;
    taken.value().release();
    no_memory_for_handlers = false;
    EXPECT_GT(refused_allocations, 0);
    EXPECT_TRUE(run_until(io, [&] { return count_of("unwoken") == 0; }));
}

}  // namespace
