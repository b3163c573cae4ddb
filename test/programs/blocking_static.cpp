// SPDX-License-Identifier: BSL-1.0
// A blocking client with static storage: `blocking_static MODE`, the server's URL in REDIS_URL.
#include <conch/blocking.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

std::string_view mode;

conch::config settings() { return conch::config::from_url(std::getenv("REDIS_URL")); }

void lock_once(conch::blocking_client& redis) {
    conch::blocking_mutex m{redis, "x"};
    m.lock();
    m.unlock();
    std::puts("unlocked");
}

// Destroyed after the client.
struct maker_of_another {
    ~maker_of_another() {
        if (mode == "another_in_destructor") {
            conch::blocking_client another{settings()};
            lock_once(another);
        }
    }
} before;

conch::blocking_client redis{settings()};

// Destroyed before the client.
struct user_of_it {
    ~user_of_it() {
        if (mode == "destructor") {
            lock_once(redis);
        }
    }
} after;

int hold_while_a_child_exits() {
    conch::blocking_mutex m{redis, "x"};
    m.lock();
    const pid_t child = ::fork();
    if (child == 0) {
        std::exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    std::puts(m.owns_lock() ? "owned" : "lost");
    m.unlock();
    std::puts(m.unlock_error() ? "was lost" : "unlocked");
    return status;
}

}  // namespace

int main(int, char* argv[]) {
    mode = argv[1];
    if (mode == "child") {
        return hold_while_a_child_exits();
    }
    lock_once(redis);
    return 0;
}
