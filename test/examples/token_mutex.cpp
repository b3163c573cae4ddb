// SPDX-License-Identifier: BSL-1.0
// A lock that redis-py, redsync and many a script share: `token_mutex [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> rebuild(conch::client& redis) {
    conch::token_mutex m{redis, "rebuild-index"};  // SET rebuild-index TOKEN NX PX 30000
    conch::hold h = co_await m.async_lock({.wait = 2s, .max_hold = 10min});
    const conch::lock_status s = co_await m.async_status();
    std::cout << (s.locked && h.owns_lock() ? "rebuilding\n" : "not locked!\n");
    co_await h.async_unlock();  // deleted only while the value is still ours
}

asio::awaitable<void> run(conch::client& redis) {
    co_await rebuild(redis);
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
