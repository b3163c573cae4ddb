// SPDX-License-Identifier: BSL-1.0
// A machine that sleeps: its steady clock stands still, the lease goes on.
#include "support/child_process.hpp"
#include "support/redis_test.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

using suspend_test = redis_test;

constexpr int not_permitted = 77;

/// For this process so much time passes at once on the clock that counts suspend, and none on the
/// steady one: it enters a time namespace. False if it may not. Precondition: it has one thread.
bool sleep_machine(std::chrono::seconds d) {
    if (::unshare(CLONE_NEWTIME) != 0) {
        return false;
    }
    std::ofstream{"/proc/self/timens_offsets"} << "boottime " << d.count() << " 0" << std::flush;
    const int inside = ::open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    const bool entered = inside >= 0 && ::setns(inside, CLONE_NEWTIME) == 0;
    ::close(inside);
    return entered;
}

/// 0 if the loss was told soon after the sleep, 1 if not.
int sleep_through_a_lease(const std::string& socket_path) {
    asio::io_context io;
    config quiet = settings_for(socket_path);
    // Nothing else wakes it.
    quiet.ping_interval = quiet.response_timeout = 1h;
    quiet.connect_timeout = quiet.operation_timeout = 1h;
    client c{io, quiet};
    const mutex m{c, "night"};
    hold h;
    int status = 1;
    m.async_lock({.lease = 60s, .renew = false}, [&](error_code, hold taken) {
        h = std::move(taken);
        h.async_wait_lost([&](error_code ec) { status = ec == errc::lease_expired ? 0 : 1; });
    });
    io.run_for(300ms);  // then nothing is left to do but to wait
    if (!h.owns_lock()) {
        return 1;
    }
    if (!sleep_machine(120s)) {
        return not_permitted;
    }
    status = h.owns_lock() ? 1 : status;  // true at once, without a turn of the loop
    io.restart();
    const auto late = std::chrono::steady_clock::now() + 10s;  // it looks at the hold after 20 s
    while (status != 0 && io.run_one_until(late) > 0) {
    }
    return status;
}

TEST_F(suspend_test, a_lease_that_ended_while_the_machine_slept_is_told_when_it_wakes) {
    child_process sleeper{[&](const auto&) { return sleep_through_a_lease(server.socket_path()); }};
    const int status = sleeper.join(60s);
    if (status == not_permitted) {
        GTEST_SKIP() << "needs a time namespace: Linux 5.6, and to be root";
    }
    EXPECT_EQ(status, 0);
}

}  // namespace
