// SPDX-License-Identifier: BSL-1.0
// A function whose every call runs under a lock of its own name: `guarded [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct user_id {
    int number;
    std::string str() const { return std::to_string(number); }
};

asio::awaitable<void> update_user(user_id id) {
    std::cout << "updates user " << id.number << "\n";
    co_return;
}

asio::awaitable<void> pay(std::string order, int cents) {
    std::cout << "pays " << cents << " for " << order << "\n";
    co_return;
}

asio::awaitable<void> run(conch::client& redis) {
    auto update = conch::guarded(
        redis, [](user_id id) { return "updateUserInfo:" + id.str(); }, update_user,
        conch::busy_text("please do not submit twice"), {.wait = 1s, .lease = 10s});
    co_await update(user_id{7});

    // Under the lock "pay:A1:500", which stays for 10 s: a second submission is refused.
    auto submit = conch::guarded(redis, "pay", pay, conch::busy_text("please do not submit twice"),
                                 {.lease = 10s, .auto_release = false});
    co_await submit("A1", 500);
    try {
        co_await submit("A1", 500);
    } catch (const conch::busy_error& e) {
        std::cout << e.what() << "\n";
    }
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        if (failure) {
            status = EXIT_FAILURE;
            redis.async_shutdown([](conch::error_code) {});
        }
    });
    io.run();
    return status;
}
